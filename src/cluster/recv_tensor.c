// Writing: everything before the elements is one piece, the elements are one, and what follows them
// is the third.
//
//   RecvTensorResponse  1: Tensor { 1: dtype  2: shape  4: tensor_content } 2: is_dead  3: micros
//   pieces              [----------- header ---------][--- elements --][------- trailer ------]
//
// Reading: a small message, or one of strings or other objects, is joined and decoded like any
// other. A large one is walked over field by field until its elements begin; these are copied from
// the pieces into the tensor. A peer may order and repeat fields as it likes, so that whatever the
// walk does not expect is left to the general way. Where the elements come another way (plane.c),
// the same walk makes the tensor that they are to be written into.
#include "cluster/recv_tensor.h"

#include <string.h>

#include "base/checked.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_content.h"
#include "formats/wire/wire.h"

#define SMALL_BYTES 16384

// ---- Writing ------------------------------------------------------------------------------------

static void append_varint(leat_string_builder_t* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    leat_string_builder_append_char(out, (char)(value | 0x80));
  }
  leat_string_builder_append_char(out, (char)value);
}

static void append_tag(leat_string_builder_t* out, uint32_t number, leat_wire_type_t type) {
  append_varint(out, number << 3 | type);
}

static void free_tensor(void* owner) {
  leat_tensor_release(owner);
  leat_allocator_free(leat_allocator_system(), owner);
}

// What a dead value is sent as: a tensor of floats without elements, whatever its type was.
static leat_status_t make_dead(leat_slot_t* value) {
  if (value->tensor.dtype) return leat_ok_status();
  return leat_tensor_vector(LEAT_DTYPE_FLOAT, "", 0, &value->tensor);
}

// Writes what stands before and behind the elements.
static leat_status_t write_frame(const leat_pb_tensor_proto_t* tensor, bool is_dead,
                                 leat_string_builder_t* header, leat_string_builder_t* trailer) {
  leat_pb_tensor_proto_t head = *tensor;
  leat_string_builder_t inner;
  head.tensor_content.size = 0;
  leat_string_builder_initialize(leat_allocator_system(), &inner);
  leat_status_t status = leat_message_encode(&leat_pb_tensor_proto_descriptor, &head, &inner);
  append_tag(&inner, 4, LEAT_WIRE_LENGTH);
  append_varint(&inner, tensor->tensor_content.size);
  append_tag(header, 1, LEAT_WIRE_LENGTH);
  append_varint(header, inner.size + tensor->tensor_content.size);
  leat_string_builder_append(header, leat_string_builder_view(&inner));
  if (!status) status = leat_status_clone(inner.status);
  leat_string_builder_deinitialize(&inner);
  const leat_pb_recv_tensor_response_t rest = {.is_dead = is_dead,
                                               .send_start_micros = leat_clock_wall_ns() / 1000};
  if (!status) {
    status = leat_message_encode(&leat_pb_recv_tensor_response_descriptor, &rest, trailer);
  }
  return status;
}

// Makes the piece of a text, which becomes the piece's.
static leat_status_t finish_text(leat_string_builder_t* text, leat_rpc_piece_t* out_piece) {
  char* bytes;
  LEAT_RETURN_IF_ERROR(leat_string_builder_finish(text, &bytes, &out_piece->size));
  *out_piece = (leat_rpc_piece_t){bytes, out_piece->size, leat_rpc_release_text, bytes};
  return leat_ok_status();
}

// Makes the piece of the elements: of the tensor's own buffer, which it keeps, or of a copy of what
// was packed in the arena.
static leat_status_t keep_elements(const leat_tensor_t* tensor, leat_string_view_t content,
                                   leat_rpc_piece_t* out_piece) {
  *out_piece = (leat_rpc_piece_t){.data = content.data, .size = content.size};
  if (content.data != (const char*)tensor->data) {
    char* copy;
    LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(leat_allocator_system(), content.data,
                                                     content.size, &copy));
    *out_piece = (leat_rpc_piece_t){copy, content.size, leat_rpc_release_text, copy};
    return leat_ok_status();
  }
  leat_tensor_t* kept;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &kept));
  *kept = leat_tensor_share(tensor);
  out_piece->release = free_tensor;
  out_piece->owner = kept;
  return leat_ok_status();
}

static void release_piece(leat_rpc_piece_t* piece) {
  if (piece->release) piece->release(piece->owner);
  *piece = (leat_rpc_piece_t){0};
}

leat_status_t leat_recv_tensor_encode(leat_slot_t value,
                                      leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES],
                                      leat_rpc_bytes_t* out_bytes) {
  leat_string_builder_t header, trailer;
  leat_pb_tensor_proto_t proto;
  leat_arena_t arena;
  const bool is_dead = !value.alive;
  memset(pieces, 0, LEAT_RECV_TENSOR_PIECES * sizeof *pieces);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &header);
  leat_string_builder_initialize(leat_allocator_system(), &trailer);
  leat_status_t status = make_dead(&value);
  if (!status) status = leat_tensor_to_content(&value.tensor, &arena, &proto);
  if (!status) status = write_frame(&proto, is_dead, &header, &trailer);
  if (!status) status = keep_elements(&value.tensor, proto.tensor_content, &pieces[1]);
  if (!status) status = finish_text(&header, &pieces[0]);
  if (!status) status = finish_text(&trailer, &pieces[2]);
  leat_string_builder_deinitialize(&header);
  leat_string_builder_deinitialize(&trailer);
  leat_arena_deinitialize(&arena);
  leat_slot_release(&value);
  for (int i = 0; status && i < LEAT_RECV_TENSOR_PIECES; ++i) release_piece(&pieces[i]);
  *out_bytes = (leat_rpc_bytes_t){pieces, status ? 0 : LEAT_RECV_TENSOR_PIECES};
  return status;
}

// ---- Reading ------------------------------------------------------------------------------------

// A place in a list of pieces.
typedef struct cursor_s {
  leat_rpc_bytes_t bytes;
  size_t piece, offset;
  size_t left;  // in all
} cursor_t;

// Copies the next |size| bytes to |target|, which may be NULL; false where there are not so many,
// or they are absent.
static bool take(cursor_t* cursor, size_t size, char* target) {
  if (size > cursor->left) return false;
  cursor->left -= size;
  while (size > 0) {
    const leat_rpc_piece_t* piece = &cursor->bytes.pieces[cursor->piece];
    const size_t here = LEAT_MIN(size, piece->size - cursor->offset);
    if (target && here && !piece->data) return false;
    if (target && here) memcpy(target, piece->data + cursor->offset, here);
    if (target) target += here;
    size -= here;
    cursor->offset += here;
    if (cursor->offset < piece->size) continue;
    ++cursor->piece;
    cursor->offset = 0;
  }
  return true;
}

static bool take_varint(cursor_t* cursor, uint64_t* out_value) {
  *out_value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte;
    if (!take(cursor, 1, (char*)&byte)) return false;
    *out_value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Reads the head of a large tensor, up to its elements. False where the message is not of the form
// that this file writes.
static bool read_head(cursor_t* cursor, leat_arena_t* arena, leat_pb_tensor_proto_t* out_head,
                      size_t* out_content_bytes) {
  uint64_t tag, size;
  if (!take_varint(cursor, &tag) || tag != (1 << 3 | LEAT_WIRE_LENGTH)) return false;
  if (!take_varint(cursor, &size) || size > cursor->left) return false;
  const size_t behind = cursor->left - (size_t)size;  // bytes of the message behind the tensor
  leat_string_builder_t head;
  leat_string_builder_initialize(leat_allocator_system(), &head);
  bool is_known = false;
  while (!is_known && cursor->left > behind && take_varint(cursor, &tag) &&
         take_varint(cursor, &size)) {
    if (tag == (4 << 3 | LEAT_WIRE_LENGTH)) {
      // Nothing follows in the tensor, and its end does not lie between the tag and the size.
      is_known = cursor->left >= behind && size == cursor->left - behind;
      *out_content_bytes = (size_t)size;
      break;
    }
    append_varint(&head, tag);
    append_varint(&head, size);
    if (tag == (1 << 3 | LEAT_WIRE_VARINT)) continue;
    char* text = tag == (2 << 3 | LEAT_WIRE_LENGTH) && size < SMALL_BYTES
                     ? leat_string_builder_reserve(&head, (size_t)size)
                     : NULL;
    if (!text || !take(cursor, (size_t)size, text)) break;
  }
  leat_string_view_t bytes;
  if (is_known && !head.status) {
    leat_status_t status = leat_arena_copy_string(arena, leat_string_builder_view(&head), &bytes);
    if (!status) {
      status = leat_message_decode(&leat_pb_tensor_proto_descriptor, bytes, arena, NULL, out_head);
    }
    is_known = !status;
    leat_status_free(status);
  } else {
    is_known = false;
  }
  leat_string_builder_deinitialize(&head);
  return is_known;
}

// Reads a tensor of numbers straight into its own memory, unless the piece with its elements has no
// address. |*out_done| is false where the message has another form, and nothing was read.
static leat_status_t read_large(leat_rpc_bytes_t bytes, leat_arena_t* arena, leat_slot_t* out_value,
                                bool* out_done) {
  cursor_t cursor = {.bytes = bytes, .left = leat_rpc_bytes_size(bytes)};
  leat_pb_tensor_proto_t head;
  size_t content_bytes = 0;
  leat_shape_t shape;
  *out_done = false;
  if (!read_head(&cursor, arena, &head, &content_bytes)) return leat_ok_status();
  if (!leat_dtype_is_valid(head.dtype) || leat_dtype_is_ref(head.dtype) ||
      leat_dtype_in(head.dtype, LEAT_DTYPES_OBJECT) || head.dtype == LEAT_DTYPE_BOOL) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(head.tensor_shape, &shape));
  size_t size_bytes;
  const bool fits = !__builtin_mul_overflow((size_t)shape.element_count,
                                            leat_dtype_size(head.dtype), &size_bytes) &&
                    size_bytes == content_bytes;
  leat_tensor_t tensor = {0};
  leat_status_t status = leat_ok_status();
  if (fits) status = leat_tensor_allocate(leat_buffer_source_host(), head.dtype, &shape, &tensor);
  leat_shape_release(&shape);
  if (status || !fits) return status;  // the general way says what is wrong with the sizes
  const leat_rpc_piece_t* elements = content_bytes ? &bytes.pieces[cursor.piece] : NULL;
  const bool is_absent = elements && !elements->data;
  if (is_absent && (cursor.offset > 0 || elements->size != content_bytes)) {
    leat_tensor_release(&tensor);
    return leat_ok_status();
  }
  take(&cursor, content_bytes, is_absent ? NULL : tensor.data);
  // What follows says whether the value is dead; it is small.
  char trailer[64];
  const size_t left = cursor.left;
  leat_pb_recv_tensor_response_t rest;
  if (left > sizeof trailer || !take(&cursor, left, trailer)) {
    leat_tensor_release(&tensor);
    return leat_ok_status();
  }
  status = leat_message_decode(&leat_pb_recv_tensor_response_descriptor,
                               leat_string_view_make(trailer, left), arena, NULL, &rest);
  if (status || rest.tensor) {
    leat_tensor_release(&tensor);
    return status;
  }
  *out_done = true;
  *out_value = (leat_slot_t){.alive = !rest.is_dead};
  if (rest.is_dead) {
    leat_tensor_release(&tensor);
  } else {
    out_value->tensor = tensor;
  }
  return leat_ok_status();
}

static leat_status_t read_joined(leat_rpc_bytes_t bytes, leat_arena_t* arena,
                                 leat_slot_t* out_value) {
  leat_string_view_t view;
  char* copy;
  leat_pb_recv_tensor_response_t response;
  LEAT_RETURN_IF_ERROR(leat_rpc_bytes_join(bytes, leat_allocator_system(), &view, &copy));
  leat_status_t status =
      leat_message_decode(&leat_pb_recv_tensor_response_descriptor, view, arena, NULL, &response);
  if (!status && !response.is_dead) {
    static const leat_pb_tensor_proto_t kNone;
    status = leat_tensor_from_content(response.tensor ? response.tensor : &kNone, arena,
                                      leat_buffer_source_host(), &out_value->tensor);
    out_value->alive = !status;
  }
  leat_allocator_free(leat_allocator_system(), copy);
  return status;
}

leat_status_t leat_recv_tensor_place(leat_rpc_bytes_t bytes, leat_slot_t* out_value,
                                     bool* out_done) {
  leat_arena_t arena;
  *out_value = (leat_slot_t){0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = read_large(bytes, &arena, out_value, out_done);
  leat_arena_deinitialize(&arena);
  if (*out_done && !out_value->alive) *out_done = false;  // there is no tensor
  return status;
}

leat_status_t leat_recv_tensor_decode(leat_rpc_bytes_t bytes, leat_slot_t* out_value) {
  leat_arena_t arena;
  bool is_done = false;
  leat_status_t status = leat_ok_status();
  *out_value = (leat_slot_t){0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (leat_rpc_bytes_size(bytes) > SMALL_BYTES) {
    status = read_large(bytes, &arena, out_value, &is_done);
  }
  if (!status && !is_done) status = read_joined(bytes, &arena, out_value);
  leat_arena_deinitialize(&arena);
  if (!status || leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
  // Whoever reads the value has no part in what is wrong with it.
  leat_status_t malformed = leat_make_status(LEAT_INTERNAL, "RecvTensor failed: the answer: %s",
                                             leat_status_message(status));
  leat_status_free(status);
  return malformed;
}
