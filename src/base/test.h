// What every unit test needs: cmocka with the headers that it asks for, and assertions on statuses.
// Only tests include it. A case is `static void name(void** state)`, stands in a list of
// cmocka_unit_test(name), and main hands the list to cmocka_run_group_tests. An assertion that
// fails leaves the case at once, without running its clean-up, so a case that fails may leak.
#ifndef LEAT_BASE_TEST_H_
#define LEAT_BASE_TEST_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// cmocka.h asks for these headers and includes none of them.
#include <cmocka.h>  // after those

#include "base/attributes.h"
#include "base/status.h"

// Fails the case, with the code and the message printed, when the status is an error. The status is
// consumed.
#define LEAT_EXPECT_OK(expression)                                                        \
  do {                                                                                    \
    leat_status_t leat_got_ = (expression);                                               \
    if (leat_got_) {                                                                      \
      print_error("%s: %s\n", leat_status_code_name(leat_status_code(leat_got_)),         \
                  leat_status_message(leat_got_));                                        \
    }                                                                                     \
    bool leat_ok_ = !leat_got_;                                                           \
    leat_status_free(leat_got_);                                                          \
    assert_true(leat_ok_);                                                                \
  } while (0)

// Fails the case unless the status has the code |code|, which it shows by name. The status is
// consumed.
#define LEAT_EXPECT_CODE(code, expression)                         \
  do {                                                             \
    leat_status_t leat_got_ = (expression);                        \
    leat_status_code_t leat_code_ = leat_status_code(leat_got_);   \
    leat_status_free(leat_got_);                                   \
    assert_string_equal(leat_status_code_name(leat_code_),         \
                        leat_status_code_name(code));              \
  } while (0)

#endif  // LEAT_BASE_TEST_H_
