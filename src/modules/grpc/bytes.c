// Bytes between the caller's pieces and the C core's slices, without a copy wherever one of the two
// can point into the other. A piece that goes out with a |release| becomes a slice whose last
// reference calls it; the C core drops that reference when the bytes are written or the call has
// failed. Pieces that come in are the slices of the received buffer themselves.
#include <limits.h>

#include "modules/grpc/engine.h"

leat_string_view_t rpc_slice_view(const grpc_slice* slice) {
  return leat_string_view_make((const char*)GRPC_SLICE_START_PTR(*slice),
                               GRPC_SLICE_LENGTH(*slice));
}

grpc_slice rpc_slice_from(leat_string_view_t view) {
  return view.size ? grpc_slice_from_copied_buffer(view.data, view.size) : grpc_empty_slice();
}

void rpc_bytes_release(leat_rpc_bytes_t bytes) {
  for (size_t i = 0; i < bytes.count; ++i) {
    if (bytes.pieces[i].release) bytes.pieces[i].release(bytes.pieces[i].owner);
  }
}

static grpc_slice slice_of(leat_rpc_piece_t piece) {
  if (!piece.release) return rpc_slice_from(leat_string_view_make(piece.data, piece.size));
  return grpc_slice_new_with_user_data((void*)piece.data, piece.size, piece.release, piece.owner);
}

int rpc_bytes_to_buffer(leat_rpc_bytes_t bytes, grpc_byte_buffer** out_buffer) {
  grpc_slice inlined[RPC_INLINE_PIECES];
  grpc_slice* slices = inlined;
  // Both counts are below SIZE_MAX / sizeof(grpc_slice), since the caller's array is in memory.
  if (bytes.count > RPC_INLINE_PIECES) slices = rpc_host->allocate(bytes.count * sizeof *slices);
  uint64_t size = 0;
  for (size_t i = 0; i < bytes.count && size <= INT32_MAX; ++i) size += bytes.pieces[i].size;
  if (!slices || size > INT32_MAX) {
    if (slices != inlined) rpc_host->free(slices);
    rpc_bytes_release(bytes);
    return LEAT_RESOURCE_EXHAUSTED;
  }
  for (size_t i = 0; i < bytes.count; ++i) slices[i] = slice_of(bytes.pieces[i]);
  *out_buffer = grpc_raw_byte_buffer_create(slices, bytes.count);
  for (size_t i = 0; i < bytes.count; ++i) grpc_slice_unref(slices[i]);
  if (slices != inlined) rpc_host->free(slices);
  return LEAT_OK;
}

bool rpc_received_open(rpc_received_t* received, leat_rpc_bytes_t* out_bytes) {
  *out_bytes = (leat_rpc_bytes_t){received->inlined, 0};
  if (!received->buffer) return true;
  // The C core has decompressed what the peer compressed.
  const grpc_slice_buffer* slices = &received->buffer->data.raw.slice_buffer;
  received->pieces = slices->count <= RPC_INLINE_PIECES
                         ? received->inlined
                         : rpc_host->allocate(slices->count * sizeof *received->pieces);
  if (!received->pieces) return false;
  for (size_t i = 0; i < slices->count; ++i) {
    const leat_string_view_t view = rpc_slice_view(&slices->slices[i]);
    received->pieces[i] = (leat_rpc_piece_t){.data = view.data, .size = view.size};
  }
  *out_bytes = (leat_rpc_bytes_t){received->pieces, slices->count};
  return true;
}

void rpc_received_close(rpc_received_t* received) {
  if (received->pieces != received->inlined) rpc_host->free(received->pieces);
  received->pieces = NULL;
  if (received->buffer) grpc_byte_buffer_destroy(received->buffer);
  received->buffer = NULL;
}
