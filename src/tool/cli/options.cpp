#include "tool/cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "tool/cli/help.hpp"
#include "tool/cli/suggest.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

using words = std::vector<std::string>;

struct help_wanted {
  std::string text;
};

constexpr std::uint32_t longest_interval_ms = 3'600'000;

// CLI11's own usage line says OPTIONS and nothing of what a command takes.
class help_page : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    return fmt::format("Usage: heapledger {}\n", app->get_footer().empty() ? app->get_name() : app->get_footer());
  }
  std::string make_footer(const CLI::App*) const override { return {}; }
};

class command_line {
 public:
  explicit command_line(const std::string& name) : app_(purpose_of(name), name), name_(name) {
    app_.allow_extras();
    app_.set_help_flag("-h,--help", "this text");
    app_.formatter(std::make_shared<help_page>());
    app_.get_formatter()->column_width(30);
    app_.option_defaults()->take_last();
  }

  CLI::App& app() { return app_; }

  // Whether the option `word` takes the next word as its value: "-o", "--output", "-fo", but not "--output=x".
  bool takes_next_word(const std::string& word) const {
    if (word.starts_with("--")) return word.find('=') == std::string::npos && takes_value(word);
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (takes_value(std::string("-") + word[i])) return i + 1 == word.size();
    }
    return false;
  }

  // Throws usage_error, or help_wanted.
  void parse(words given) {
    std::reverse(given.begin(), given.end());
    try {
      app_.parse(given);
    } catch (const CLI::CallForHelp&) {
      throw help_wanted{app_.help()};
    } catch (const CLI::ArgumentMismatch& error) {
      throw usage_error(fmt::format("{} needs a value", option_of(error)));
    } catch (const CLI::ParseError& error) {
      throw usage_error(error.what());
    }
    words unknown = app_.remaining();
    if (const auto separator = std::find(unknown.begin(), unknown.end(), "--"); separator != unknown.end()) {
      unknown.erase(separator);  // CLI11 keeps it
    }
    if (!unknown.empty()) refuse(unknown.front());
  }

  [[noreturn]] void refuse(const std::string& word) const {
    if (word.size() < 2 || word.front() != '-') {
      throw usage_error(fmt::format("'{}' is one argument too many", word));
    }
    const std::string option = word.starts_with("--") ? word.substr(0, word.find('=')) : word;
    if (option == "--leaks") throw usage_error("--leaks is not in this version");
    const std::string meant = nearest(option, option_names());
    throw usage_error(fmt::format("unknown option {}; {}", option,
                                  meant.empty() ? fmt::format("heapledger {} --help lists them", name_)
                                                : fmt::format("did you mean {}?", meant)));
  }

 private:
  static std::string purpose_of(const std::string& name) {
    for (const auto& command : commands()) {
      if (command.name == name) return command.purpose;
    }
    return {};
  }
  bool takes_value(const std::string& name) const {
    const CLI::Option* option = app_.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_min() > 0;
  }
  words option_names() const {
    words names;
    for (const CLI::Option* option : app_.get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
  }
  // CLI11 says "--output: 1 required TEXT missing".
  static std::string option_of(const CLI::Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(':'));
  }

  CLI::App app_;
  std::string name_;
};

// An option of `run` with a value or a flag, and its environment twin.
class twin_options {
 public:
  twin_options(command_line& line, const environment_lookup& environment) : line_(line), environment_(environment) {}

  using use_value = std::function<void(std::string_view source, const std::string& text)>;

  void add(const std::string& names, const std::string& placeholder, const std::string& help, use_value use) {
    auto value = std::make_shared<words>();
    CLI::Option* option = line_.app().add_option(names, *value, help)->type_name(placeholder);
    // One value each time: CLI11 would else take every following word, and split one in brackets.
    option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    entries_.push_back({option, std::move(value), std::move(use)});
  }

  // A flag's text is "1", or how often it was given.
  void add_flag(const std::string& names, const std::string& help, use_value use) {
    entries_.push_back({line_.app().add_flag(names, help), nullptr, std::move(use)});
  }

  void take() const {
    for (const auto& entry : entries_) {
      const std::string name = entry.option->get_lnames().front();
      if (entry.option->count() != 0) {
        if (entry.values == nullptr) {
          for (const auto& result : entry.option->results()) {
            if (result != "true") throw usage_error(fmt::format("--{} takes no value", name));
          }
          entry.use("--" + name, fmt::to_string(entry.option->count()));
        } else {
          for (const auto& value : *entry.values) entry.use("--" + name, value);
        }
        continue;
      }
      std::string variable = "HEAPLEDGER_" + name;
      for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      const char* value = environment_(variable.c_str());
      if (value != nullptr && *value != '\0') entry.use(variable, value);
    }
  }

 private:
  struct twin {
    CLI::Option* option;
    std::shared_ptr<words> values;  // none: a flag
    use_value use;
  };

  command_line& line_;
  const environment_lookup& environment_;
  std::vector<twin> entries_;
};

bool given(std::string_view source, const std::string& text) {
  return source.starts_with("--") || truth_value(source, text);
}

void add_run_options(twin_options& twins, run_options& options) {
  twins.add("-o,--output", "FILE", "the profile's name; %p pid, %e program, %h host, %t time (heapledger.%e.%p.hlp)",
            [&](auto source, const std::string& text) {
              if (text.empty()) throw usage_error(fmt::format("{} needs a file name", source));
              options.output = text;
            });
  twins.add_flag("-f,--force", "overwrite an existing file",
                 [&](auto source, const std::string& text) { options.force = given(source, text); });
  twins.add("--stacks", "KIND", "dwarf (exact), fp (frame pointers), off (dwarf)",
            [&](auto source, const std::string& text) {
              options.stacks = choice_value(source, text, {"dwarf", "fp", "off"});
            });
  twins.add("--depth", "N", "keep the innermost N frames of a stack; 0 keeps all (0)",
            [&](auto source, const std::string& text) { options.depth = number_value(source, text, 0, UINT32_MAX); });
  twins.add("--interval", "MS", "time between points of the timeline; 0 takes none (100)",
            [&](auto source, const std::string& text) {
              options.interval_ms = number_value(source, text, 0, longest_interval_ms);
            });
  twins.add_flag("--no-follow", "leave forked and executed children alone",
                 [&](auto source, const std::string& text) { options.follow = !given(source, text); });
  twins.add("--only", "GLOB", "profile only processes whose program's name matches; may be repeated",
            [&](auto source, const std::string& text) {
              if (source.starts_with("--")) {
                options.only.push_back(text);
                return;
              }
              for (const auto& glob : CLI::detail::split(text, ':')) {  // as in PATH
                if (!glob.empty()) options.only.push_back(glob);
              }
            });
  twins.add_flag("-q,--quiet", "say nothing",
                 [&](auto source, const std::string& text) { options.quiet = given(source, text); });
  twins.add_flag("-v,--verbose", "say more", [&](auto source, const std::string& text) {
    options.verbose = static_cast<int>(number_value(source, text, 0, 9));
  });
}

run_options parse_run(std::span<const std::string> given_words, const environment_lookup& environment) {
  run_options options;
  command_line line("run");
  line.app().footer("run [options] [--] PROGRAM [ARG...]");
  line.app().description(line.app().get_description() +
                         "\nAn option that is not given is taken from the environment: HEAPLEDGER_<OPTION>, such as "
                         "HEAPLEDGER_NO_FOLLOW=1.");
  twin_options twins(line, environment);
  add_run_options(twins, options);
  line.app().add_flag("--check", options.check)->group("");  // for tests: not in the help

  // Where the program begins is found here, not by CLI11, which would touch the program's own arguments.
  words ours;
  std::size_t i = 0;
  for (; i < given_words.size(); ++i) {
    const std::string& word = given_words[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word.size() < 2 || word.front() != '-') break;
    ours.push_back(word);
    if (line.takes_next_word(word) && i + 1 < given_words.size()) ours.push_back(given_words[++i]);
  }
  options.command.assign(given_words.begin() + static_cast<std::ptrdiff_t>(i), given_words.end());

  line.parse(std::move(ours));
  twins.take();
  if (const char* check = environment("HEAPLEDGER_CHECK"); check != nullptr && *check != 0 && *check != '0')
    options.check = true;
  const char* leaks = environment("HEAPLEDGER_LEAKS");
  if (leaks != nullptr && *leaks != '\0' && truth_value("HEAPLEDGER_LEAKS", leaks)) {
    throw usage_error("HEAPLEDGER_LEAKS is set, and --leaks is not in this version; unset it");
  }
  if (options.command.empty()) throw usage_error("which program? Type: heapledger run [options] -- PROGRAM [ARG...]");
  return options;
}

report_options parse_report(std::span<const std::string> given_words) {
  report_options options;
  std::string top;
  std::string depth;
  command_line line("report");
  auto& app = line.app();
  app.footer("report [options] PROFILE");
  app.add_option("PROFILE", options.file, "a .hlp file, or the segment of a process")->type_name("");
  app.add_flag("--json", options.json, "one JSON object: every stack with every frame");
  app.add_option("--by", options.by, "order by live, peak, allocated, count or temporary")->type_name("MEASURE");
  app.add_option("--top", top, "so many places, or stacks in JSON (10; all in JSON)")->type_name("N");
  app.add_option("--depth", depth, "so many frames of each stack; not with --json")->type_name("N");
  app.add_flag("--full-recursion", options.full_recursion, "show repeated frames one by one; not with --json");
  app.add_option("--debug-path", options.debug_paths, "a folder of debug files; may be repeated")
      ->type_name("DIR")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  line.parse(words(given_words.begin(), given_words.end()));

  if (app.count("--by") != 0) {
    choice_value("--by", options.by, {"live", "peak", "allocated", "count", "temporary"});
  }
  if (app.count("--top") != 0) options.top = number_value("--top", top, 1, UINT32_MAX);
  if (app.count("--depth") != 0) options.depth = number_value("--depth", depth, 1, 100'000);
  if (options.file.empty()) throw usage_error("which profile? Type: heapledger report FILE.hlp");
  return options;
}

doctor_options parse_doctor(std::span<const std::string> given_words) {
  doctor_options options;
  command_line line("doctor");
  line.app().footer("doctor [PROGRAM]");
  line.app().add_option("PROGRAM", options.program, "also say whether this program can be profiled")->type_name("");
  line.parse(words(given_words.begin(), given_words.end()));
  return options;
}

spoken refuse_command(const std::string& word) {
  std::string answer;
  if (is_later_command(word)) {
    answer = fmt::format("the command '{}' is not in this version", word);
  } else {
    words known = {"--help", "--version"};
    for (const auto& command : commands()) known.push_back(command.name);
    const std::string meant = nearest(word, known);
    answer =
        fmt::format("unknown {} '{}'; {}", word.starts_with("-") ? "option" : "command", word,
                    meant.empty() ? "heapledger --help lists what there is" : fmt::format("did you mean {}?", meant));
  }
  return {"heapledger: " + answer + "\n", exit_usage};
}

}  // namespace

invocation parse(std::span<const std::string> given_words, const environment_lookup& environment) {
  if (given_words.empty()) return spoken{overview_help(), exit_usage};
  std::string name = given_words[0];
  auto rest = given_words.subspan(1);
  const words help_option = {"--help"};
  if (name == "--version" || name == "-V") return spoken{version_text(), 0};
  if (name == "--help" || name == "-h" || name == "help") {
    if (rest.empty() || name != "help") return spoken{overview_help(), 0};
    name = rest[0];
    rest = help_option;
  }
  try {
    if (name == "run") return parse_run(rest, environment);
    if (name == "report") return parse_report(rest);
    if (name == "doctor") return parse_doctor(rest);
    return refuse_command(name);
  } catch (const help_wanted& help) {
    return spoken{help.text, 0};
  } catch (const usage_error& error) {
    return spoken{fmt::format("heapledger {}: {}\n", name, error.what()), exit_usage};
  }
}

}  // namespace heapledger::cli
