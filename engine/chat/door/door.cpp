// A door in C to llama.cpp's parsers of replies (common/chat*), which are C++ and made from the text of a chat template.
// The library is loaded only by the child process that renders templates (engine/chat/door.py): a template is a program
// out of a model file, and here llama.cpp runs it.
//
// Requests and answers are JSON in UTF-8. An answer belongs to the caller until outrider_chat_release.

#include "chat.h"
#include "chat-peg-parser.h"
#include "log.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#if defined(_WIN32)
#define OUTRIDER_DOOR extern "C" __declspec(dllexport)
#else
#define OUTRIDER_DOOR extern "C" __attribute__((visibility("default")))
#endif

namespace {

using Builder = common_chat_peg_builder;

// The markers before which a part of a reply ends, as far as they are known: `plain` is false where the grammar looks at
// the text in another way than by waiting for one of them.
struct Ends {
    std::set<std::string> markers;
    bool plain = true;
};

class EndsFinder {
public:
    explicit EndsFinder(const common_peg_arena & arena) : arena_(arena) {}

    Ends of(const std::string & tag) {
        Ends ends;
        for (size_t id = 0; id < arena_.size(); ++id) {
            const auto * tagged = std::get_if<common_peg_tag_parser>(&arena_.get(id));
            if (tagged != nullptr && tagged->tag == tag) {
                visit(tagged->child, ends);
            }
        }
        return ends;
    }

private:
    void visit(common_peg_parser_id id, Ends & ends) {
        if (!seen_.insert(id).second) {
            return;
        }
        const auto & parser = arena_.get(id);
        if (const auto * until = std::get_if<common_peg_until_parser>(&parser)) {
            ends.markers.insert(until->delimiters.begin(), until->delimiters.end());
        } else if (const auto * literal = std::get_if<common_peg_literal_parser>(&parser)) {
            ends.markers.insert(literal->literal);
        } else if (const auto * sequence = std::get_if<common_peg_sequence_parser>(&parser)) {
            visit_all(sequence->children, ends);
        } else if (const auto * choice = std::get_if<common_peg_choice_parser>(&parser)) {
            visit_all(choice->children, ends);
        } else if (const auto * repetition = std::get_if<common_peg_repetition_parser>(&parser)) {
            visit(repetition->child, ends);
        } else if (const auto * ahead = std::get_if<common_peg_and_parser>(&parser)) {
            visit(ahead->child, ends);
        } else if (const auto * never = std::get_if<common_peg_not_parser>(&parser)) {
            visit(never->child, ends);
        } else if (const auto * rule = std::get_if<common_peg_rule_parser>(&parser)) {
            visit(rule->child, ends);
        } else if (const auto * ref = std::get_if<common_peg_ref_parser>(&parser)) {
            visit(arena_.get_rule(ref->name), ends);
        } else if (const auto * atomic = std::get_if<common_peg_atomic_parser>(&parser)) {
            visit(atomic->child, ends);
        } else if (const auto * automaton = std::get_if<common_peg_ac_parser>(&parser)) {
            ends.markers.insert(automaton->delimiters.begin(), automaton->delimiters.end());
            visit(automaton->child, ends);
        } else if (!std::holds_alternative<common_peg_epsilon_parser>(parser) &&
                   !std::holds_alternative<common_peg_any_parser>(parser)) {
            ends.plain = false;
        }
    }

    void visit_all(const std::vector<common_peg_parser_id> & ids, Ends & ends) {
        for (const auto id : ids) {
            visit(id, ends);
        }
    }

    const common_peg_arena & arena_;
    std::set<common_peg_parser_id> seen_;
};

common_json as_json(const Ends & ends) {
    if (!ends.plain) {
        return common_json(nullptr);
    }
    common_json listed = common_json::array();
    for (const auto & marker : ends.markers) {
        if (!marker.empty()) {
            listed.push_back(marker);
        }
    }
    return listed;
}

char * given(const common_json & answer) {
    const std::string text = answer.dump();
    char * copy = static_cast<char *>(std::malloc(text.size() + 1));
    if (copy != nullptr) {
        std::memcpy(copy, text.c_str(), text.size() + 1);
    }
    return copy;
}

char * failed(const char * reason) {
    try {
        common_json answer = common_json::object();
        answer["error"] = reason;
        return given(answer);
    } catch (const std::exception &) {
        return nullptr;
    }
}

std::unique_ptr<common_chat_peg_mapper> mapper_for(common_chat_format format, common_chat_msg & message) {
    switch (format) {
        case COMMON_CHAT_FORMAT_PEG_GEMMA4:
            return std::make_unique<common_chat_peg_gemma4_mapper>(message);
        case COMMON_CHAT_FORMAT_PEG_MINIMAX_M3:
            return std::make_unique<common_chat_peg_minimax_m3_mapper>(message);
        default:
            return std::make_unique<common_chat_peg_mapper>(message);
    }
}

// What is known of the end of a text. `place`: the part that more text would go on with, "reasoning" or "content", "tool"
// within a call, or "" between parts; `last`: the last part that there was; `settled`: how many bytes have become part of
// one, or of a call that is complete; `calls`: how many of those there are.
struct End {
    std::string place;
    std::string last;
    size_t settled = 0;
    size_t calls = 0;
};

End end_of(const common_peg_parse_context & context, const common_peg_parse_result & result) {
    End end;
    context.ast.visit(result, [&](const common_peg_ast_node & node) {
        if (node.tag == Builder::REASONING || node.tag == Builder::CONTENT) {
            // An empty one may begin behind blanks that are still to come.
            const bool open = node.is_partial && node.end == context.input.size() && node.end > node.start;
            end.place = open ? node.tag : "";
            end.last = node.tag;
            end.settled = std::max(end.settled, node.end);
        } else if (node.tag == Builder::TOOL || node.tag == Builder::TOOL_OPEN) {
            end.place = end.last = "tool";
            if (node.tag == Builder::TOOL && !node.is_partial) {
                end.settled = std::max(end.settled, node.end);
                ++end.calls;
            }
        } else if (node.tag == Builder::REASONING_BLOCK && !node.is_partial) {
            end.settled = std::max(end.settled, node.end);
        }
    });
    return end;
}

// How many bytes of a text that does not fit are its longest beginning that does.
size_t fitting(const common_peg_arena & arena, const std::string & text, size_t least) {
    size_t fits = least;
    size_t fails = text.size();
    while (fails - fits > 1) {
        size_t middle = fits + (fails - fits) / 2;
        while (middle > fits && (static_cast<unsigned char>(text[middle]) & 0xC0) == 0x80) {
            --middle;
        }
        if (middle == fits) {
            break;  // One character is left between them.
        }
        common_peg_parse_context context(text.substr(0, middle), COMMON_PEG_PARSE_FLAG_LENIENT);
        (arena.parse(context).fail() ? fails : fits) = middle;
    }
    return fits;
}

}  // namespace

struct outrider_chat {
    common_peg_arena arena;
    common_chat_format format = COMMON_CHAT_FORMAT_CONTENT_ONLY;
    std::string begun;  // The end of the prompt, with which the grammar begins.
};

// Makes the parser of a template; {"template", "bos", "eos", "tools", "thinking", "kwargs", "messages"} gives
// {"begun", "reasoning", "content"}, or {"error"}. `begun`: the end of the prompt; the others: the markers before which
// such a part ends, or null.
OUTRIDER_DOOR char * outrider_chat_open(const char * request, outrider_chat ** made) {
    *made = nullptr;
    try {
        common_log_set_verbosity_thold(-1);
        const common_json asked = common_json::parse(request);
        const auto templates = common_chat_templates_init(
            nullptr, asked.at("template").get<std::string>(), asked.at("bos").get<std::string>(),
            asked.at("eos").get<std::string>());
        common_chat_templates_inputs inputs;
        inputs.messages = common_chat_msgs_parse_oaicompat(asked.at("messages"));
        inputs.tools = common_chat_tools_parse_oaicompat(asked.at("tools"));
        inputs.parallel_tool_calls = true;
        inputs.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
        inputs.enable_thinking = asked.at("thinking").get<bool>();
        for (const auto & [name, value] : asked.at("kwargs").items()) {
            inputs.chat_template_kwargs[name] = value.dump();
        }
        const common_chat_params params = common_chat_templates_apply(templates.get(), inputs);
        auto chat = std::make_unique<outrider_chat>();
        if (params.parser.empty()) {
            chat->arena = build_chat_peg_parser([](Builder & p) { return p.content(p.rest()) + p.end(); });
        } else {
            chat->arena.load(params.parser);
        }
        chat->format = params.format;
        chat->begun = params.generation_prompt;
        common_json answer = common_json::object();
        answer["begun"] = chat->begun;
        answer["reasoning"] = as_json(EndsFinder(chat->arena).of(Builder::REASONING));
        answer["content"] = as_json(EndsFinder(chat->arena).of(Builder::CONTENT));
        char * text = given(answer);
        *made = chat.release();
        return text;
    } catch (const std::exception & error) {
        return failed(error.what());
    }
}

// Parts a reply, or its beginning: {"reasoning", "content", "calls", "place", "last", "settled", "whole"}, the last but
// `whole` as in End. Where the grammar does not fit (`whole` is false), they are those of the longest beginning that does.
OUTRIDER_DOOR char * outrider_chat_parse(const outrider_chat * chat, const char * reply, size_t size) {
    try {
        const size_t begun = chat->begun.size();
        std::string text = chat->begun + std::string(reply, size);
        auto context = std::make_unique<common_peg_parse_context>(text, COMMON_PEG_PARSE_FLAG_LENIENT);
        auto result = chat->arena.parse(*context);
        const bool whole = !result.fail();
        if (!whole) {
            text.resize(fitting(chat->arena, text, begun));
            context = std::make_unique<common_peg_parse_context>(text, COMMON_PEG_PARSE_FLAG_LENIENT);
            result = chat->arena.parse(*context);
        }
        common_chat_msg message;
        message.role = "assistant";
        common_json calls = common_json::array();
        End end;
        if (!result.fail()) {
            mapper_for(chat->format, message)->from_ast(context->ast, result);
            end = end_of(*context, result);
        }
        if (!whole && message.tool_calls.size() > end.calls) {
            message.tool_calls.resize(end.calls);
        }
        for (const auto & call : message.tool_calls) {
            common_json one = common_json::object();
            one["id"] = call.id;
            one["name"] = call.name;
            one["arguments"] = call.arguments;
            calls.push_back(one);
        }
        common_json answer = common_json::object();
        answer["reasoning"] = message.reasoning_content;
        answer["content"] = message.content;
        answer["calls"] = calls;
        answer["place"] = end.place;
        answer["last"] = end.last;
        answer["settled"] = end.settled > begun ? end.settled - begun : size_t(0);
        answer["whole"] = whole;
        return given(answer);
    } catch (const std::exception & error) {
        return failed(error.what());
    }
}

OUTRIDER_DOOR void outrider_chat_release(char * answer) {
    std::free(answer);
}

OUTRIDER_DOOR void outrider_chat_close(outrider_chat * chat) {
    delete chat;
}
