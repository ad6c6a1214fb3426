// Tries the kernels with cases of chance, each made from the campaign's seed and its own number alone.
//
//     kernels-check [--seed N] [--cases N] [--first N] [--only products|experts|attention] [--type q4_K] [--small] [--long]
//
// Exits with 0 where all held, with 1 where a rule was broken, and with 2 where it was called wrongly. Memory that is
// touched outside of what an operation was given ends it by a signal, after a line that says which case it was.
#include "check.h"

#include <csignal>
#include <iterator>
#include <cstdlib>
#include <string>

namespace {

void crashed(int signal) {
    // Nothing but what may be called in a handler.
    for (const char * part : {"CRASHED: ", static_cast<const char *>(check::told), "\n"}) {
        const ssize_t written = write(STDERR_FILENO, part, std::strlen(part));
        static_cast<void>(written);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

struct Kind {
    const char * name;
    void (*check)(check::Campaign &, check::Chance &);
};

constexpr Kind KINDS[] = {
    {"products", check::check_product}, {"experts", check::check_experts}, {"attention", check::check_attention}};

struct Asked {
    uint64_t seed = 1;
    int64_t cases = 300, first = 0;
    std::string only;
    check::Campaign campaign;
};

int wrong(const std::string & why) {
    std::fprintf(stderr, "kernels-check: %s\n", why.c_str());
    return 2;
}

/// Why it cannot be done, or nothing.
std::string read(int count, char ** words, Asked & asked) {
    for (int i = 1; i < count; i++) {
        const std::string word = words[i];
        if (word == "--small" || word == "--long") {
            (word == "--small" ? asked.campaign.small : asked.campaign.is_long) = true;
            continue;
        }
        if (i + 1 == count) {
            return word + ": not known, or its value is missing";
        }
        const std::string value = words[++i];
        if (word == "--seed") {
            asked.seed = std::strtoull(value.c_str(), nullptr, 10);
        } else if (word == "--cases") {
            asked.cases = std::atoll(value.c_str());
        } else if (word == "--first") {
            asked.first = std::atoll(value.c_str());
        } else if (word == "--only") {
            asked.only = value;
        } else if (word == "--type") {
            asked.campaign.type = value;
        } else {
            return word + ": not known";
        }
    }
    return "";
}

int run(Asked & asked) {
    check::Campaign & campaign = asked.campaign;
    campaign.bits = check::at_work();
    int64_t made[std::size(KINDS)] = {};
    for (int64_t number = asked.first; number < asked.first + asked.cases; number++) {
        check::Chance chance(asked.seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(number));
        const size_t drawn = static_cast<size_t>(chance.among(0, 7));
        const size_t kind = drawn < 4 ? 0 : drawn < 5 ? 1 : 2;
        if (!asked.only.empty() && asked.only != KINDS[kind].name) {
            continue;
        }
        campaign.now.clear();
        campaign.say(check::text("seed %llu, case %lld: ", static_cast<unsigned long long>(asked.seed),
                                 static_cast<long long>(number)));
        try {
            KINDS[kind].check(campaign, chance);
        } catch (const check::Broken & broken) {
            std::fprintf(stderr, "BROKEN: %s: %s\n", campaign.now.c_str(), broken.what());
            return 1;
        }
        made[kind]++;
    }
    std::printf("%lld products, %lld of experts, %lld attentions held; ", static_cast<long long>(made[0]),
                static_cast<long long>(made[1]), static_cast<long long>(made[2]));
    if (campaign.bits) {
        std::printf("%lld results have the same bits; ", static_cast<long long>(campaign.compared));
    } else {
        std::printf("the kernels are not at work, bits were not compared; ");
    }
    std::printf("largest error %.2f of what rounding explains (%s)\n", campaign.largest, campaign.largest_of.c_str());
    return 0;
}

}  // namespace

int main(int count, char ** words) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE}) {
        std::signal(signal, crashed);
    }
    setenv("GGML_NO_BACKTRACE", "1", 0);  // It would call a debugger.
    Asked asked;
    const std::string why = read(count, words, asked);
    if (!why.empty()) {
        return wrong(why);
    }
    try {
        return run(asked);
    } catch (const std::runtime_error & error) {
        return wrong(error.what());
    }
}
