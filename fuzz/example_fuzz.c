// Example and SequenceExample messages. The first byte says which, and how many bytes the first of
// two messages has.
#include "graph/inference/inference.h"
#include "ops/input/example_parse_cpu.h"

#define KEY(text) {"" text, sizeof(text) - 1}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const int64_t kSizes[] = {-1, 2};
  leat_partial_shape_t scalar = {0, NULL}, open = {1, kSizes}, matrix = {2, kSizes};
  leat_tensor_t zero = {0}, texts = {0};
  leat_shape_t pair = leat_shape_vector(2);
  size_t first = data[0] >> 1;
  if (first > size - 1) first = size - 1;
  leat_string_view_t rest = leat_string_view_make((const char*)data + 1, size - 1);
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &pair, &texts);
  if (!status) {
    status = leat_tensor_set_string(&texts, 0, leat_string_view_make(rest.data, first));
  }
  if (!status) {
    status = leat_tensor_set_string(&texts, 1, leat_string_view_from_index(rest, first));
  }
  int64_t nothing = 0;
  if (!status) status = leat_tensor_scalar(LEAT_DTYPE_INT64, &nothing, &zero);
  leat_feature_spec_t features[] = {
      {KEY("a"), LEAT_FEATURE_DENSE, LEAT_DTYPE_INT64, 0, matrix, &zero, false},
      {KEY("a"), LEAT_FEATURE_SPARSE, LEAT_DTYPE_INT64, 0, scalar, NULL, false},
      {KEY("f"), LEAT_FEATURE_SPARSE, LEAT_DTYPE_FLOAT, 0, scalar, NULL, false},
      {KEY("s"), LEAT_FEATURE_RAGGED, LEAT_DTYPE_STRING, LEAT_DTYPE_INT32, scalar, NULL, false},
  };
  leat_feature_spec_t lists[] = {
      {KEY("l"), LEAT_FEATURE_DENSE, LEAT_DTYPE_FLOAT, 0, open, NULL, true},
      {KEY("m"), LEAT_FEATURE_RAGGED, LEAT_DTYPE_INT64, LEAT_DTYPE_INT64, scalar, NULL, true},
      {KEY("n"), LEAT_FEATURE_SPARSE, LEAT_DTYPE_STRING, 0, scalar, NULL, true},
  };
  bool is_sequence = data[0] & 1;
  leat_example_parse_t parse = {.serialized = &texts,
                                .is_sequence = is_sequence,
                                .features = features,
                                .feature_count = 4,
                                .lists = lists,
                                .list_count = is_sequence ? 3 : 0,
                                .memory = leat_buffer_source_host()};
  if (!status) {
    status = leat_example_parse(&parse);
    leat_example_parse_release(&parse);
  }
  leat_status_free(status);
  leat_tensor_release(&zero);
  leat_tensor_release(&texts);
  return 0;
}
