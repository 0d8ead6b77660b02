// Files of cases (graphs.txt says how they look): lines, the fields of a line, graphs in text form.
#ifndef LEAT_TESTS_HOSTILE_CASE_FILE_H_
#define LEAT_TESTS_HOSTILE_CASE_FILE_H_

#include "base/string_builder.h"
#include "capi/kit.h"

typedef struct case_file_s {
  char* text;
  size_t size;
  size_t at;
} case_file_t;
// tests/hostile/<name>; fails the test when it cannot be read. Ends with free(file->text).
void case_file_open(const char* name, case_file_t* out_file);
// The next line that is no comment; false at the end.
bool case_file_line(case_file_t* file, leat_string_view_t* out_line);
// The lines up to the next one that begins with "===".
leat_string_view_t case_file_block(case_file_t* file);

// Takes the text before the next " | " off |inout_rest|; false when nothing is left.
bool case_field(leat_string_view_t* inout_rest, leat_string_view_t* out_field);
// "run OK" after the word "run": the code; -1 when the field begins with another word.
int case_code(leat_string_view_t field, const char* word);

// A tensor as a case writes it, from "DTYPE [DIMS] HEX"; NULL when such a tensor cannot be.
TF_Tensor* case_tensor(leat_string_view_t text);
// A GraphDef in text form as bytes, ended by TF_DeleteBuffer.
TF_Buffer* case_graph(leat_string_view_t text);

// What a case does in a session.
typedef struct case_step_s {
  TF_Output feeds[8];
  TF_Tensor* values[8];
  int feed_count;
  TF_Output fetch;  // index -1: the operation as a target
} case_step_t;
TF_Code case_run(TF_Session* session, const case_step_t* step, TF_Status* status);

#endif  // LEAT_TESTS_HOSTILE_CASE_FILE_H_
