// The reader of the files of hostile cases (tests/hostile/graphs.txt says how they look): one line
// of fields for each case, and below it a graph in text form. Cases are text and not C so that one
// can be added from a fuzzer's finding or an error report as it came. case_tensor() makes feeds
// from a type, a list of sizes and bytes, which need not agree; it returns NULL where no such
// tensor can be made, and the case is then not run. case_graph() encodes the text without any
// check, because a graph that is wrong must reach the import as it is.
#include "hostile/case_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"

void case_file_open(const char* name, case_file_t* out_file) {
  char path[1000];
  const char* folder = getenv("LEAT_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/hostile/%s", folder ? folder : ".", name);
  FILE* file = fopen(path, "rb");
  if (!file) fail_msg("cannot read %s", path);
  fseek(file, 0, SEEK_END);
  *out_file = (case_file_t){.size = (size_t)ftell(file)};
  rewind(file);
  out_file->text = malloc(out_file->size + 1);
  assert_int_equal(fread(out_file->text, 1, out_file->size, file), out_file->size);
  fclose(file);
}

bool case_file_line(case_file_t* file, leat_string_view_t* out_line) {
  while (file->at < file->size) {
    const char* line = file->text + file->at;
    const char* end = memchr(line, '\n', file->size - file->at);
    size_t length = end ? (size_t)(end - line) : file->size - file->at;
    file->at += length + 1;
    if (length == 0 || line[0] == '#') continue;
    *out_line = leat_string_view_make(line, length);
    return true;
  }
  return false;
}

leat_string_view_t case_file_block(case_file_t* file) {
  size_t begin = file->at < file->size ? file->at : file->size;
  size_t end = begin;
  while (end < file->size) {
    if (file->size - end >= 3 && !memcmp(file->text + end, "===", 3)) break;
    const char* line_end = memchr(file->text + end, '\n', file->size - end);
    end = line_end ? (size_t)(line_end - file->text) + 1 : file->size;
  }
  file->at = end;
  return leat_string_view_make(file->text + begin, end - begin);
}

bool case_field(leat_string_view_t* inout_rest, leat_string_view_t* out_field) {
  if (inout_rest->size == 0) return false;
  const char* text = inout_rest->data;
  size_t at = 0;
  while (at + 3 <= inout_rest->size && memcmp(text + at, " | ", 3)) ++at;
  bool found = at + 3 <= inout_rest->size;
  *out_field = leat_string_view_make(text, found ? at : inout_rest->size);
  *inout_rest = found ? leat_string_view_from_index(*inout_rest, at + 3) : LEAT_SV("");
  return true;
}

int case_code(leat_string_view_t field, const char* word) {
  static const char* const names[] = {
      "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
      "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"};
  size_t length = strlen(word);
  if (field.size <= length || memcmp(field.data, word, length) || field.data[length] != ' ') {
    return -1;
  }
  leat_string_view_t name = leat_string_view_from_index(field, length + 1);
  for (int i = 0; i < 16; ++i) {
    if (leat_string_view_equals(name, names[i])) return i;
  }
  fail_msg("no such code: %.*s", (int)name.size, name.data);
  return -1;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

TF_Tensor* case_tensor(leat_string_view_t text) {
  char* end;
  int64_t dims[300];
  int rank = 0;
  TF_DataType dtype = (TF_DataType)strtol(text.data, &end, 10);
  end = strchr(end, '[') + 1;
  while (*end != ']') {
    dims[rank++] = strtoll(end, &end, 10);
    if (*end == ',') ++end;
  }
  const char* hex = end + 2;
  const char* limit = text.data + text.size;
  size_t bytes = *hex == '-' ? 0 : (size_t)(limit - hex) / 2;
  TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, rank, bytes);
  if (!tensor) return NULL;
  unsigned char* data = TF_TensorData(tensor);
  for (size_t i = 0; i < bytes; ++i) {
    data[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return tensor;
}

TF_Buffer* case_graph(leat_string_view_t text) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_pb_graph_def_t graph = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_text_parse(&leat_pb_graph_def_descriptor, text, &arena, &graph);
  if (!status) status = leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &bytes);
  if (status) fail_msg("%s in: %.*s", leat_status_message(status), (int)text.size, text.data);
  leat_string_view_t view = leat_string_builder_view(&bytes);
  TF_Buffer* buffer = TF_NewBufferFromString(view.data, view.size);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  return buffer;
}

TF_Code case_run(TF_Session* session, const case_step_t* step, TF_Status* status) {
  bool fetches = step->fetch.index >= 0;
  const TF_Operation* target = step->fetch.oper;
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, step->feeds, step->values, step->feed_count, &step->fetch, &result,
                fetches, &target, !fetches, NULL, status);
  TF_Code code = TF_GetCode(status);
  if (code != TF_OK) assert_null(result);
  TF_DeleteTensor(result);
  return code;
}
