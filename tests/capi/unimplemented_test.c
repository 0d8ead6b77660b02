// Every function of capi/unimplemented.inc: with a status it answers UNIMPLEMENTED, its own name
// and a hint; without one it does nothing.
#include "capi/kit.h"

typedef intptr_t word_t;
typedef intptr_t (*call_none_t)(word_t, word_t, word_t, word_t, word_t, word_t);
typedef intptr_t (*call_0_t)(TF_Status*);
typedef intptr_t (*call_1_t)(word_t, TF_Status*);
typedef intptr_t (*call_2_t)(word_t, word_t, TF_Status*);
typedef intptr_t (*call_3_t)(word_t, word_t, word_t, TF_Status*);
typedef intptr_t (*call_4_t)(word_t, word_t, word_t, word_t, TF_Status*);
typedef intptr_t (*call_5_t)(word_t, word_t, word_t, word_t, word_t, TF_Status*);
typedef intptr_t (*call_6_t)(word_t, word_t, word_t, word_t, word_t, word_t, TF_Status*);
typedef intptr_t (*call_7_t)(word_t, word_t, word_t, word_t, word_t, word_t, word_t, TF_Status*);
typedef intptr_t (*call_8_t)(word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t,
                             TF_Status*);
typedef intptr_t (*call_9_t)(word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t,
                             word_t, TF_Status*);
#define ZEROS_0
#define ZEROS_1 0,
#define ZEROS_2 0, 0,
#define ZEROS_3 0, 0, 0,
#define ZEROS_4 0, 0, 0, 0,
#define ZEROS_5 0, 0, 0, 0, 0,
#define ZEROS_6 0, 0, 0, 0, 0, 0,
#define ZEROS_7 0, 0, 0, 0, 0, 0, 0,
#define ZEROS_8 0, 0, 0, 0, 0, 0, 0, 0,
#define ZEROS_9 0, 0, 0, 0, 0, 0, 0, 0, 0,

#define HINT(text)
#define SPECIAL(name)
#define NONE(name) void name(void);
#define STATUS(name, place, value) void name(void);
#include "capi/unimplemented.inc"
#undef HINT
#undef NONE
#undef STATUS

static void test_all(void** state) {
  TF_Status* s = TF_NewStatus();
  const char* hint = "";
  int count = 0;
#define HINT(text) hint = text;
#define NONE(name) assert_int_equal(((call_none_t)name)(0, 0, 0, 0, 0, 0), 0);
#define STATUS(name, place, value)                                        \
  assert_int_equal(((call_##place##_t)name)(ZEROS_##place s), value);     \
  kit_expect_text(s, TF_UNIMPLEMENTED, #name " is not implemented in Leat: "); \
  kit_expect_text(s, TF_UNIMPLEMENTED, hint);                             \
  ++count;
#include "capi/unimplemented.inc"
  assert_true(count > 10);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
