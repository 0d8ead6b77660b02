// Every function of capi/unimplemented.inc: with a status it answers UNIMPLEMENTED, its own name
// and a hint; without one it does nothing.
#include "capi/kit.h"

typedef intptr_t word_t;
#define WORDS_0
#define WORDS_1 word_t,
#define WORDS_2 word_t, word_t,
#define WORDS_3 word_t, word_t, word_t,
#define WORDS_4 word_t, word_t, word_t, word_t,
#define WORDS_5 word_t, word_t, word_t, word_t, word_t,
#define WORDS_6 word_t, word_t, word_t, word_t, word_t, word_t,
#define WORDS_7 word_t, word_t, word_t, word_t, word_t, word_t, word_t,
#define WORDS_8 word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t,
#define WORDS_9 word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t, word_t,
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
// As they are made, whatever TensorFlow's headers say.
#define NONE(name) intptr_t name(void);
#define STATUS(name, place, value) intptr_t name(WORDS_##place TF_Status*);
#include "capi/unimplemented.inc"
#undef HINT
#undef NONE
#undef STATUS

static void test_all(void** state) {
  TF_Status* s = TF_NewStatus();
  const char* hint = "";
  int count = 0;
#define HINT(text) hint = text;
#define NONE(name) assert_int_equal(name(), 0);
#define STATUS(name, place, value)                                        \
  assert_int_equal(name(ZEROS_##place s), value);                              \
  kit_expect_text(s, TF_UNIMPLEMENTED, #name " is not implemented in Leat: "); \
  kit_expect_text(s, TF_UNIMPLEMENTED, hint);                                  \
  ++count;
#include "capi/unimplemented.inc"
  assert_true(count > 5);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
