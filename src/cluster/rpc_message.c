// The bytes of a request are copied by leat_rpc_call, so that they may go when it returns.
#include "cluster/rpc_message.h"

#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

void leat_rpc_call_message(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                           const leat_message_descriptor_t* descriptor, const void* message,
                           leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(descriptor, message, &bytes);
  if (status) {
    done(data, status, LEAT_SV(""), (leat_rpc_bytes_t){0});
  } else {
    const leat_rpc_piece_t piece = {.data = bytes.data, .size = bytes.size};
    leat_rpc_call_options_t with_bytes = *options;
    with_bytes.bytes = (leat_rpc_bytes_t){&piece, 1};
    leat_rpc_call(channel, &with_bytes, done, data, out_call);
  }
  leat_string_builder_deinitialize(&bytes);
}

leat_status_t leat_rpc_decode_message(leat_rpc_bytes_t bytes, leat_arena_t* arena,
                                      const leat_message_descriptor_t* descriptor,
                                      void* out_message) {
  leat_string_view_t view, kept;
  char* copy;
  LEAT_RETURN_IF_ERROR(leat_rpc_bytes_join(bytes, leat_allocator_system(), &view, &copy));
  leat_status_t status = leat_arena_copy_string(arena, view, &kept);
  leat_allocator_free(leat_allocator_system(), copy);
  LEAT_RETURN_IF_ERROR(status);
  return leat_message_decode(descriptor, kept, arena, NULL, out_message);
}

leat_status_t leat_rpc_decode_request(leat_string_view_t bytes, leat_arena_t* arena,
                                      const leat_message_descriptor_t* descriptor,
                                      void** out_message) {
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, 1, descriptor->size_bytes, out_message));
  leat_status_t status = leat_message_decode(descriptor, bytes, arena, NULL, *out_message);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_t unparsed = leat_make_status(LEAT_INTERNAL, "Unable to parse request: %s",
                                            leat_status_message(status));
  leat_status_free(status);
  return unparsed;
}
