// Functions of TensorFlow's libraries that are not Leat's yet, from the one list in
// unimplemented.inc. A program that was linked to them starts, and one that calls them is told:
// those with a TF_Status answer UNIMPLEMENTED with their name and what to use, the others do
// nothing and return what says "none" (0, NULL or -1).
//
// No header declares them. Each is made for the place of its status alone, whatever the other
// arguments are: those in front of it are words, as the calling conventions of x86-64 and arm64
// pass integers and pointers.
#include <stdint.h>
#include <string.h>

#include "capi/handles.h"

// ---- their numbers ------------------------------------------------------------------------------

#define HINT(text)
#define NONE(name)
#define SPECIAL(name) NUMBER_##name,
#define STATUS(name, place, value) NUMBER_##name,
enum {
#include "capi/unimplemented.inc"
};
#undef HINT
#undef SPECIAL
#undef STATUS

// ---- their names, in that order; a hint stands before those that it is for, after a byte 1 ------

#define HINT(text) "\1" text "\0"
#define SPECIAL(name) #name "\0"
#define STATUS(name, place, value) #name "\0"
static const char names[] =
#include "capi/unimplemented.inc"
    ;
#undef HINT
#undef NONE
#undef SPECIAL
#undef STATUS

static LEAT_COLD intptr_t refuse(TF_Status* status, int number, intptr_t value) {
  const char *name = names, *hint = "";
  for (; *name == 1 || number-- > 0; name += strlen(name) + 1) {
    if (*name == 1) hint = name + 1;
  }
  leat_capi_status_set(status, leat_make_status(LEAT_UNIMPLEMENTED,
                                                "%s is not implemented in Leat: %s", name, hint));
  return value;
}

static intptr_t none(void) { return 0; }

// ---- themselves ---------------------------------------------------------------------------------

typedef intptr_t word_t;
#define WORDS_0
#define WORDS_1 word_t a,
#define WORDS_2 WORDS_1 word_t b,
#define WORDS_3 WORDS_2 word_t c,
#define WORDS_4 WORDS_3 word_t d,
#define WORDS_5 WORDS_4 word_t e,
#define WORDS_6 WORDS_5 word_t f,
#define WORDS_7 WORDS_6 word_t g,
#define WORDS_8 WORDS_7 word_t h,
#define WORDS_9 WORDS_8 word_t i,

#define HINT(text)
#define NONE(name) TF_CAPI_EXPORT intptr_t name(void) __attribute__((alias("none")));
#define SPECIAL(name)
#define STATUS(name, place, value)                                    \
  TF_CAPI_EXPORT intptr_t name(WORDS_##place TF_Status* status) {     \
    return refuse(status, NUMBER_##name, value);                      \
  }
#include "capi/unimplemented.inc"

// Those whose arguments or results are structs.
typedef struct thunk_s {
  void* words[4];
} thunk_t;
TF_CAPI_EXPORT thunk_t TF_GetRendezvous(word_t context) { return (thunk_t){{NULL}}; }

TF_CAPI_EXPORT TF_StringView TF_GetOpKernelRequestedInput(word_t context, size_t index) {
  return (TF_StringView){NULL, 0};
}

