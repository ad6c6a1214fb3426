; Makes the Windows installer, with Inno Setup 6.3 or newer. packaging/installers/windows_setup.py calls the compiler with
; every /D below, so that version, names and dates stand in one place. Untested on Windows.

#ifndef Version
  #error Call packaging/installers/windows_setup.py: it passes Version and the rest.
#endif

#define Program "outrider.exe"
#define EngineProgram "outrider-engine.exe"
#define FileType "Outrider.gguf"

[Setup]
; Never change: by it an installer finds what an earlier one installed. Both flavours share it, so one replaces the other.
AppId={{8F0C6A7E-5C5B-4E0D-9C39-6B1C2B7A4D11}
AppName=Outrider
AppVersion={#Version}
AppVerName=Outrider {#Version}
AppPublisher={#Publisher}
AppCopyright={#Copyright}
VersionInfoVersion={#NumericVersion}
VersionInfoDescription=Outrider Setup
; 64-bit, on Arm too where Windows can run such programs. Qt needs Windows 10 1809.
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
MinVersion=10.0.17763
; For this user, without an administrator, unless "for all users" is chosen at the start.
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog
DefaultDirName={autopf}\Outrider
DisableProgramGroupPage=yes
LicenseFile={#Licence}
SetupIconFile={#Icon}
UninstallDisplayIcon={app}\{#Program}
UninstallDisplayName=Outrider
WizardStyle=modern
ShowLanguageDialog=auto
ChangesAssociations=yes
; Asks to close a running Outrider before its files are replaced.
CloseApplications=yes
RestartApplications=no
Compression=lzma2/max
SolidCompression=yes
; Every file is dated with the commit's time.
TimeStampsInUTC=yes
TouchDate={#TouchDate}
TouchTime={#TouchTime}
OutputDir={#Out}
OutputBaseFilename={#OutName}
#ifdef Sign
SignTool=outrider
SignedUninstaller=yes
#endif

[Languages]
Name: "en"; MessagesFile: "compiler:Default.isl"
Name: "de"; MessagesFile: "compiler:Languages\German.isl"
Name: "es"; MessagesFile: "compiler:Languages\Spanish.isl"
Name: "fr"; MessagesFile: "compiler:Languages\French.isl"

[Messages]
en.ConfirmUninstall=Remove %1 and everything that its installer put on this computer?%n%nYour settings and your models stay where they are. The settings are in the folder "outrider" of your local application data; delete it yourself if you no longer want them.
de.ConfirmUninstall=%1 und alles, was sein Installationsprogramm auf diesen Computer gebracht hat, entfernen?%n%nIhre Einstellungen und Modelle bleiben, wo sie sind. Die Einstellungen liegen im Ordner „outrider“ Ihrer lokalen Anwendungsdaten; löschen Sie ihn selbst, wenn Sie sie nicht mehr brauchen.
es.ConfirmUninstall=¿Quitar %1 y todo lo que su instalador puso en este equipo?%n%nSus ajustes y sus modelos se conservan. Los ajustes están en la carpeta «outrider» de sus datos de aplicación locales; bórrela usted mismo si ya no los necesita.
fr.ConfirmUninstall=Supprimer %1 et tout ce que son programme d'installation a mis sur cet ordinateur ?%n%nVos réglages et vos modèles restent en place. Les réglages se trouvent dans le dossier « outrider » de vos données d'application locales ; supprimez-le vous-même si vous n'en avez plus besoin.

[CustomMessages]
en.OpenWith=Offer Outrider under "Open with" for .gguf files (their default program stays)
de.OpenWith=Outrider unter „Öffnen mit“ für .gguf-Dateien anbieten (deren Standardprogramm bleibt)
es.OpenWith=Ofrecer Outrider en «Abrir con» para los archivos .gguf (su programa predeterminado no cambia)
fr.OpenWith=Proposer Outrider dans « Ouvrir avec » pour les fichiers .gguf (leur programme par défaut ne change pas)
en.StillOpen=Outrider is still open. Close it, then try again.
de.StillOpen=Outrider ist noch geöffnet. Schließen Sie es und versuchen Sie es noch einmal.
es.StillOpen=Outrider sigue abierto. Ciérrelo y vuelva a intentarlo.
fr.StillOpen=Outrider est encore ouvert. Fermez-le, puis réessayez.

[Tasks]
Name: "desktopicon"; Description: "{cm:CreateDesktopIcon}"; GroupDescription: "{cm:AdditionalIcons}"; Flags: unchecked
Name: "openwith"; Description: "{cm:OpenWith}"

[InstallDelete]
; What an earlier version had and this one lacks must not stay: a library left there might be loaded.
Type: filesandordirs; Name: "{app}\_internal"

[Files]
#ifdef Sign
Source: "{#Bundle}\*.exe"; DestDir: "{app}"; Flags: ignoreversion touch signonce
#else
Source: "{#Bundle}\*.exe"; DestDir: "{app}"; Flags: ignoreversion touch
#endif
Source: "{#Bundle}\_internal\*"; DestDir: "{app}\_internal"; Flags: ignoreversion touch recursesubdirs createallsubdirs

[Icons]
Name: "{autoprograms}\Outrider"; Filename: "{app}\{#Program}"
Name: "{autodesktop}\Outrider"; Filename: "{app}\{#Program}"; Tasks: desktopicon

[Registry]
; One more entry under "Open with"; the type's own default value is never written.
Root: HKA; Subkey: "Software\Classes\.gguf"; Flags: uninsdeletekeyifempty; Tasks: openwith
Root: HKA; Subkey: "Software\Classes\.gguf\OpenWithProgids"; ValueType: string; ValueName: "{#FileType}"; ValueData: ""; Flags: uninsdeletevalue uninsdeletekeyifempty; Tasks: openwith
Root: HKA; Subkey: "Software\Classes\{#FileType}"; ValueType: string; ValueData: "GGUF model"; Flags: uninsdeletekey; Tasks: openwith
Root: HKA; Subkey: "Software\Classes\{#FileType}\DefaultIcon"; ValueType: string; ValueData: "{app}\{#Program},0"; Tasks: openwith
Root: HKA; Subkey: "Software\Classes\{#FileType}\shell\open"; ValueType: string; ValueName: "FriendlyAppName"; ValueData: "Outrider"; Tasks: openwith
Root: HKA; Subkey: "Software\Classes\{#FileType}\shell\open\command"; ValueType: string; ValueData: """{app}\{#Program}"" ""%1"""; Tasks: openwith

[Run]
Filename: "{app}\{#Program}"; Description: "{cm:LaunchProgram,Outrider}"; Flags: nowait postinstall skipifsilent

[Code]
{ Whether a program file is in use: Windows opens no running program for writing. }
function IsRunning(const Name: String): Boolean;
var
  Stream: TFileStream;
begin
  Result := False;
  if not FileExists(Name) then
    exit;
  try
    Stream := TFileStream.Create(Name, fmOpenReadWrite or fmShareExclusive);
    Stream.Free;
  except
    Result := True;
  end;
end;

{ A running program's files would be left behind, so removing waits until it is closed. }
function InitializeUninstall(): Boolean;
begin
  Result := True;
  while Result and (IsRunning(ExpandConstant('{app}\{#Program}')) or IsRunning(ExpandConstant('{app}\{#EngineProgram}'))) do
    Result := SuppressibleMsgBox(CustomMessage('StillOpen'), mbError, MB_RETRYCANCEL, IDCANCEL) = IDRETRY;
end;
