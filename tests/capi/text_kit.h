// One op of the plug-in of examples/plugins/text, in one line: inputs, attributes and outputs are
// texts.
#ifndef LEAT_TESTS_CAPI_TEXT_KIT_H_
#define LEAT_TESTS_CAPI_TEXT_KIT_H_

#include "capi/kit.h"

// An op with its inputs and attributes, and what it answers.
typedef struct text_case_t {
  const char* op;
  // Inputs, separated by spaces, each a letter for the type and values separated by commas, or @,
  // the handle that the test gives. Small letters are vectors, capital letters scalars: s string,
  // i int32, l int64, f float, b bool. [2x3]f... has a shape. In strings, _ stands for a space.
  const char* inputs;
  // Attributes, separated by spaces: name=value, where T... is a type (int32, int64, string), B0
  // and B1 booleans, I... a number and S... a string.
  const char* attributes;
  // The outputs, separated by " | ", values by commas; or the message that the op must fail with,
  // which has |code|.
  const char* outputs;
  TF_Code code;
} text_case_t;

// Loads the plug-in of the build folder, once.
void text_load(void);
// Adds the op as |name|. |handle| is the input @; |before| runs before it; both may be NULL.
TF_Operation* text_add(TF_Graph* graph, const char* name, const text_case_t* c,
                       TF_Operation* handle, TF_Operation* before, TF_Status* s);
// Runs a node and checks what it answers.
void text_run(TF_Session* session, TF_Operation* node, const text_case_t* c);
// A whole case in a graph of its own.
void text_check(const text_case_t* c);

#endif  // LEAT_TESTS_CAPI_TEXT_KIT_H_
