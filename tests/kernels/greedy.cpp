// Decodes with a model token by token, then verifies the same tokens in batches as speculative decoding does.
//
//     greedy-check MODEL [TOKENS [THREADS]]
//
// The tokens must be the same ones; where the kernels are at work, the bits of all logits too. Exits with 0 where they
// are, with 1 where they are not, and with 2 where the model cannot be run.
#include "llama.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" __attribute__((weak)) bool outrider_computes_here();

namespace {

constexpr const char * PROMPT = "Write a short story about a river, and say what it taught the children.";
constexpr int BATCHES[] = {1, 2, 5, 9, 16, 33};
/// Every so often a draft is wrong from here on, and what it left in the cache is taken out.
constexpr int WRONG_AFTER = 3;

struct Model {
    std::unique_ptr<llama_model, decltype(&llama_model_free)> model;
    std::unique_ptr<llama_context, decltype(&llama_free)> context;
    int words;

    Model(const char * path, int threads) : model(load(path), llama_model_free), context(nullptr, llama_free) {
        llama_context_params params = llama_context_default_params();
        params.n_ctx = 1024;
        params.n_threads = params.n_threads_batch = threads;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
        context.reset(model ? llama_init_from_model(model.get(), params) : nullptr);
        if (!context) {
            throw std::runtime_error(std::string(path) + " cannot be loaded");
        }
        words = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
    }

    static llama_model * load(const char * path) {
        llama_model_params params = llama_model_default_params();
        params.use_extra_bufts = false;
        return llama_model_load_from_file(path, params);
    }

    std::vector<llama_token> tokens(const std::string & text) const {
        std::vector<llama_token> found(text.size() + 8);
        const llama_vocab * vocabulary = llama_model_get_vocab(model.get());
        found.resize(llama_tokenize(vocabulary, text.data(), static_cast<int>(text.size()), found.data(),
                                    static_cast<int>(found.size()), true, false));
        return found;
    }

    /// Forgets all positions from this one on.
    void keep(int positions) const { llama_memory_seq_rm(llama_get_memory(context.get()), 0, positions, -1); }

    /// Decodes tokens from a position on, and appends the logits of each of them.
    void decode(const llama_token * first, int count, int position, std::vector<float> & logits) const {
        llama_batch batch = llama_batch_init(count, 0, 1);
        for (int i = 0; i < count; i++) {
            batch.token[i] = first[i];
            batch.pos[i] = position + i;
            batch.n_seq_id[i] = 1;
            batch.seq_id[i][0] = 0;
            batch.logits[i] = 1;
        }
        batch.n_tokens = count;
        const int failed = llama_decode(context.get(), batch);
        llama_batch_free(batch);
        if (failed != 0) {
            throw std::runtime_error("a batch was not decoded");
        }
        for (int i = 0; i < count; i++) {
            const float * row = llama_get_logits_ith(context.get(), i);
            logits.insert(logits.end(), row, row + words);
        }
    }

    llama_token best(const float * row) const {
        return static_cast<llama_token>(std::max_element(row, row + words) - row);
    }
};

struct Reply {
    std::vector<llama_token> tokens;
    std::vector<float> logits;  // those that each token was chosen from
};

Reply decode_plainly(const Model & model, const std::vector<llama_token> & prompt, int count) {
    Reply reply;
    std::vector<float> logits;
    model.keep(0);
    model.decode(prompt.data(), static_cast<int>(prompt.size()), 0, logits);
    logits.erase(logits.begin(), logits.end() - model.words);
    for (int i = 0; i < count; i++) {
        reply.tokens.push_back(model.best(logits.data()));
        reply.logits.insert(reply.logits.end(), logits.begin(), logits.end());
        logits.clear();
        model.decode(&reply.tokens.back(), 1, static_cast<int>(prompt.size()) + i, logits);
    }
    return reply;
}

/// The same with drafts of `size` - 1 tokens, which are those of `plain`, now and then with wrong ones among them.
Reply verify(const Model & model, const std::vector<llama_token> & prompt, const Reply & plain, int size) {
    Reply reply;
    std::vector<float> logits;
    model.keep(0);
    model.decode(prompt.data(), static_cast<int>(prompt.size()), 0, logits);
    logits.erase(logits.begin(), logits.end() - model.words);
    reply.tokens.push_back(model.best(logits.data()));
    reply.logits = logits;
    for (int round = 0; reply.tokens.size() < plain.tokens.size(); round++) {
        const size_t done = reply.tokens.size();
        std::vector<llama_token> batch{reply.tokens.back()};
        for (size_t i = done; i < plain.tokens.size() && static_cast<int>(batch.size()) < size; i++) {
            const bool wrong = round % 3 == 1 && static_cast<int>(batch.size()) >= WRONG_AFTER;
            batch.push_back(wrong ? (plain.tokens[i] + 1) % model.words : plain.tokens[i]);
        }
        const int position = static_cast<int>(prompt.size() + done) - 1;
        logits.clear();
        model.decode(batch.data(), static_cast<int>(batch.size()), position, logits);
        for (size_t i = 0; i < batch.size() && reply.tokens.size() < plain.tokens.size(); i++) {
            const float * row = logits.data() + i * model.words;
            reply.tokens.push_back(model.best(row));
            reply.logits.insert(reply.logits.end(), row, row + model.words);
            if (i + 1 < batch.size() && batch[i + 1] != reply.tokens.back()) {
                model.keep(position + static_cast<int>(i) + 1);
                break;
            }
        }
    }
    return reply;
}

int run(const char * path, int count, int threads) {
    const Model model(path, threads);
    const bool at_work = outrider_computes_here != nullptr && outrider_computes_here();
    const std::vector<llama_token> prompt = model.tokens(PROMPT);
    const Reply plain = decode_plainly(model, prompt, count);
    for (const int size : BATCHES) {
        const Reply verified = verify(model, prompt, plain, size);
        const bool tokens = verified.tokens == plain.tokens;
        const size_t size_of_logits = plain.logits.size() * sizeof(float);
        const bool bits = std::memcmp(verified.logits.data(), plain.logits.data(), size_of_logits) == 0;
        std::printf("%d tokens in batches of %d: %s tokens, %s logits\n", count, size, tokens ? "the same" : "OTHER",
                    bits ? "the same" : "other");
        if (!tokens || (at_work && !bits)) {
            return 1;
        }
    }
    std::printf("The kernels are %s.\n", at_work ? "at work" : "not at work here: only the tokens count");
    return 0;
}

}  // namespace

int main(int count, char ** words) {
    if (count < 2) {
        std::fprintf(stderr, "greedy-check MODEL [TOKENS [THREADS]]\n");
        return 2;
    }
    llama_log_set([](ggml_log_level level, const char * text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR) {
            std::fputs(text, stderr);
        }
    }, nullptr);
    try {
        return run(words[1], count > 2 ? std::atoi(words[2]) : 48, count > 3 ? std::atoi(words[3]) : 2);
    } catch (const std::runtime_error & error) {
        std::fprintf(stderr, "greedy-check: %s\n", error.what());
        return 2;
    }
}
