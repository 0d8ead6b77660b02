// Parses the strings shape_and_slice (slice_cpu.h). The slice is kept as it was written; a resolved
// copy of it, in which no length is open, gives the slice's shape.
#include "ops/checkpoint/slice_cpu.h"

static leat_status_t parse_whole(const leat_shape_t* whole, leat_arena_t* arena,
                                 leat_slice_spec_t* out_spec) {
  *out_spec = (leat_slice_spec_t){0};
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_make_full(whole->rank, arena, &out_spec->slice));
  out_spec->full_shape = leat_shape_retain(whole);
  out_spec->shape = leat_shape_retain(whole);
  return leat_ok_status();
}

leat_status_t leat_slice_spec_parse(leat_string_view_t text, const leat_shape_t* whole,
                                    leat_arena_t* arena, leat_slice_spec_t* out_spec) {
  if (text.size == 0) return parse_whole(whole, arena, out_spec);
  leat_slice_spec_t spec = {.is_given = true};
  LEAT_RETURN_IF_ERROR(
      leat_tensor_slice_parse_spec(text, arena, &spec.full_shape, &spec.slice));
  leat_tensor_slice_t resolved = {.rank = spec.slice.rank};
  size_t bytes = (size_t)resolved.rank * sizeof(int64_t);
  leat_status_t status = LEAT_NEW(arena, (size_t)resolved.rank, &resolved.starts);
  if (!status) status = LEAT_NEW(arena, (size_t)resolved.rank, &resolved.lengths);
  if (!status) {
    memcpy(resolved.starts, spec.slice.starts, bytes);
    memcpy(resolved.lengths, spec.slice.lengths, bytes);
    status = leat_tensor_slice_resolve(&resolved, &spec.full_shape, &spec.shape);
  }
  if (status) {
    leat_shape_release(&spec.full_shape);
    return status;
  }
  *out_spec = spec;
  return status;
}

void leat_slice_spec_release(leat_slice_spec_t* spec) {
  leat_shape_release(&spec->full_shape);
  leat_shape_release(&spec->shape);
}
