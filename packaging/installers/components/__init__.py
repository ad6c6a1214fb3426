"""List a frozen program's contents: the owners of its files, their licences, the list of components.

Door: `licences.gather`, `licences.check`, `licences.Component`, `sbom.write_sbom`.
Never imported here: what packs the program. Components are gathered before there is a package.
"""
