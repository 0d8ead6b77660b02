// test.hpp: a small test program: CHECK counts failures and goes on, TEST adds a function that
// run_tests() runs. A program has one source.
#ifndef LEAT_TESTS_CPP_TEST_HPP_
#define LEAT_TESTS_CPP_TEST_HPP_

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace test {

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}
inline bool add(const char* name, void (*run)()) {
  cases().push_back({name, run});
  return true;
}
inline bool check(bool holds, const char* text, const char* file, int line) {
  if (!holds) {
    std::printf("%s:%d: does not hold: %s\n", file, line, text);
    ++failures();
  }
  return holds;
}
inline bool near(double a, double b, double tolerance = 1e-5) {
  const bool holds = std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
  if (!holds) std::printf("%g is not near %g\n", a, b);
  return holds;
}

/// A folder of the test's own, which is left behind for a look at it.
inline std::string scratch(const char* name) {
  const char* root = std::getenv("TMPDIR");
  std::string pattern = std::string(root ? root : "/tmp") + "/leat-cpp-" + name + "-XXXXXX";
  return mkdtemp(&pattern[0]) ? pattern : "";
}

inline int run_tests() {
  for (const Case& one : cases()) {
    const int before = failures();
    one.run();
    std::printf("%s %s\n", failures() == before ? "ok  " : "FAIL", one.name);
  }
  return failures() ? 1 : 0;
}

}  // namespace test

#define TEST(name)                                                  \
  static void name();                                               \
  static const bool name##_added = test::add(#name, name);          \
  static void name()
#define CHECK(...) test::check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
/// That the statement throws leat::Error with this code.
#define CHECK_ERROR(wanted, ...)                                         \
  do {                                                                   \
    TF_Code code = TF_OK;                                                \
    try {                                                                \
      __VA_ARGS__;                                                       \
    } catch (const leat::Error& error) {                                 \
      code = error.code();                                               \
    }                                                                    \
    test::check(code == (wanted), #wanted ": " #__VA_ARGS__, __FILE__, __LINE__); \
  } while (0)

#endif  // LEAT_TESTS_CPP_TEST_HPP_
