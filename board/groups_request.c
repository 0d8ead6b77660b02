// Requests about hyper-parameters are JSON of a protocol buffer.
#include "board/groups_request.h"

#include "formats/wire/decode.h"
#include "formats/wire/json_wire.h"

#define COLUMN_LIMIT 1000

leat_status_t board_json_decode(const leat_message_descriptor_t* descriptor,
                                leat_string_view_t json, leat_arena_t* arena, void* out_message) {
  leat_string_builder_t wire;
  leat_string_view_t bytes = {0};
  leat_string_builder_initialize(leat_allocator_system(), &wire);
  leat_status_t status = leat_json_to_wire(descriptor, json, &wire);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&wire), &bytes);
  }
  leat_string_builder_deinitialize(&wire);
  LEAT_RETURN_IF_ERROR(status);
  return leat_message_decode(descriptor, bytes, arena, NULL, out_message);
}

leat_status_t board_groups_request_read(leat_string_view_t json, leat_arena_t* arena,
                                        board_groups_request_t* out_request) {
  LEAT_RETURN_IF_ERROR(
      board_json_decode(&leat_pb_hparam_groups_request_descriptor, json, arena, out_request));
  int32_t aggregation = out_request->aggregation_type;
  if (!leat_enum_name(&leat_pb_hparam_aggregation_descriptor, aggregation)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "aggregation_type is %d, must be 0 to 4",
                            aggregation);
  }
  if (out_request->col_params.count > COLUMN_LIMIT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "col_params has %zu items, must be at most %d",
                            out_request->col_params.count, COLUMN_LIMIT);
  }
  for (size_t i = 0; i < out_request->col_params.count; ++i) {
    const board_column_t* column = &out_request->col_params.items[i];
    bool acts = column->order || column->filter_case || column->exclude_missing_values;
    if (acts && !column->name_case) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "col_params has an item that sorts or filters, which must name a "
                              "metric or an hparam");
    }
  }
  return leat_ok_status();
}
