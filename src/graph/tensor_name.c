// Names of tensors as text: "node" (output 0), "node:1", and "^node" for a control edge, as
// GraphDefs write inputs and clients name feeds and fetches.
#include "graph/graph.h"

static leat_status_t malformed(leat_string_view_t text) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Parsing a tensor name failed: name is '%.*s', must be 'node', 'node:k' "
                          "or '^node'",
                          LEAT_SV_ARG(text));
}

leat_status_t leat_tensor_name_parse(leat_string_view_t text, leat_string_view_t* out_node,
                                     int* out_index) {
  *out_node = text;
  *out_index = 0;
  if (text.size > 0 && text.data[0] == '^') {
    *out_node = leat_string_view_from_index(text, 1);
    *out_index = LEAT_CONTROL_INDEX;
    return out_node->size > 0 ? leat_ok_status() : malformed(text);
  }
  // The index is a run of digits at the end, behind a colon. Without one the whole text is the name
  // of the node, whatever it contains.
  size_t digits = 0;
  while (digits < text.size && text.data[text.size - 1 - digits] >= '0' &&
         text.data[text.size - 1 - digits] <= '9') {
    ++digits;
  }
  size_t colon = text.size - digits;
  if (digits == 0 || colon == 0 || text.data[colon - 1] != ':') {
    return text.size > 0 ? leat_ok_status() : malformed(text);
  }
  int64_t index = 0;
  bool fits = leat_string_view_to_int64(leat_string_view_from_index(text, colon), &index);
  *out_node = leat_string_view_make(text.data, colon - 1);
  if (!fits || index > INT32_MAX || out_node->size == 0) return malformed(text);
  *out_index = (int)index;
  return leat_ok_status();
}
