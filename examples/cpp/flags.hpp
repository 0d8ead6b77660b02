// flags.hpp: the command line of the examples: --name VALUE, and --smoke for a run of seconds.
#ifndef LEAT_EXAMPLES_CPP_FLAGS_HPP_
#define LEAT_EXAMPLES_CPP_FLAGS_HPP_

#include <cstdlib>
#include <cstring>
#include <string>

class Flags {
 public:
  Flags(int argc, char** argv) : argc_(argc), argv_(argv) {}
  bool has(const char* name) const {
    for (int i = 1; i < argc_; ++i) {
      if (!std::strcmp(argv_[i], name)) return true;
    }
    return false;
  }
  std::string text(const char* name, const std::string& otherwise) const {
    for (int i = 1; i + 1 < argc_; ++i) {
      if (!std::strcmp(argv_[i], name)) return argv_[i + 1];
    }
    return otherwise;
  }
  int number(const char* name, int otherwise) const {
    return std::atoi(text(name, std::to_string(otherwise)).c_str());
  }
  bool smoke() const { return has("--smoke"); }
  /// Where the data sets lie: --data, or a folder of the one that LEAT_DATA_DIR names.
  std::string data(const char* folder) const {
    const char* root = std::getenv("LEAT_DATA_DIR");
    return text("--data", root ? std::string(root) + "/" + folder : folder);
  }
  /// A ConfigProto in text. A kernel uses --threads, or as many as there are cores.
  std::string session_config() const {
    return "intra_op_parallelism_threads: " + text("--threads", "0");
  }

 private:
  int argc_;
  char** argv_;
};

#endif  // LEAT_EXAMPLES_CPP_FLAGS_HPP_
