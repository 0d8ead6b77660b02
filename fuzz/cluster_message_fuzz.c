// What a task of a cluster reads of its peers, on arbitrary bytes. The first byte chooses between
// an answer of RecvTensor, cut into pieces where the second byte says, a tensor whose elements are
// packed, a rendezvous key, and a ServerDef with the description of a cluster. An answer that
// decodes must decode alike in one piece. A packed tensor that can be read is packed again.
// Allocations above 64 MiB are refused by an observer, so that a shape which lies is an error and
// not the end of the fuzzer.
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster_spec.h"
#include "cluster/recv_tensor.h"
#include "cluster/rendezvous_table.h"
#include "formats/generated/server.h"
#include "formats/wire/decode.h"
#include "formats/wire/tensor_content.h"
#include "memory_limit.h"

enum { kMostBytes = 1 << 26 };

static bool equal(const leat_slot_t* a, const leat_slot_t* b) {
  if (a->alive != b->alive || a->tensor.dtype != b->tensor.dtype) return false;
  if (!a->tensor.dtype) return true;
  if (!leat_shape_equal(&a->tensor.shape, &b->tensor.shape)) return false;
  if (leat_dtype_in(a->tensor.dtype, LEAT_DTYPES_OBJECT)) return true;
  const size_t size = leat_tensor_size_bytes(&a->tensor);
  return size == 0 || memcmp(a->tensor.data, b->tensor.data, size) == 0;
}

// Large messages are read in another way than small ones, so that |repeats| bytes are put behind
// the input.
static void read_answer(const char* data, size_t size, size_t cut, size_t repeats) {
  char* text = calloc(1, size + repeats + 1);
  memcpy(text, data, size);
  size += repeats;
  if (cut > size) cut = size;
  const leat_rpc_piece_t whole = {.data = text, .size = size};
  const leat_rpc_piece_t parts[] = {{.data = text, .size = cut},
                                    {.data = text + cut, .size = size - cut}};
  leat_slot_t a, b;
  leat_status_t first = leat_recv_tensor_decode((leat_rpc_bytes_t){&whole, 1}, &a);
  leat_status_t second = leat_recv_tensor_decode((leat_rpc_bytes_t){parts, 2}, &b);
  if (leat_status_code(first) != leat_status_code(second)) __builtin_trap();
  if (!first && !equal(&a, &b)) __builtin_trap();
  leat_status_free(first);
  leat_status_free(second);
  leat_slot_release(&a);
  leat_slot_release(&b);
  free(text);
}

static void read_content(leat_string_view_t bytes, leat_arena_t* arena) {
  leat_pb_tensor_proto_t proto, again;
  leat_tensor_t tensor = {0};
  leat_status_t status =
      leat_message_decode(&leat_pb_tensor_proto_descriptor, bytes, arena, NULL, &proto);
  if (!status) status = leat_tensor_from_content(&proto, arena, leat_buffer_source_host(), &tensor);
  if (!status) status = leat_tensor_to_content(&tensor, arena, &again);
  leat_status_free(status);
  leat_tensor_release(&tensor);
}

static void read_cluster(leat_string_view_t bytes, leat_arena_t* arena) {
  leat_pb_server_def_t def;
  leat_cluster_spec_t spec;
  leat_status_t status =
      leat_message_decode(&leat_pb_server_def_descriptor, bytes, arena, NULL, &def);
  if (!status && def.cluster) {
    status = leat_cluster_spec_of(def.cluster, leat_allocator_system(), &spec);
    for (int i = 0; !status && i < spec.task_count; ++i) {
      if (leat_cluster_spec_find(&spec, spec.tasks[i].job, spec.tasks[i].index) != i) {
        __builtin_trap();
      }
    }
    if (!status) leat_cluster_spec_deinitialize(&spec);
  }
  leat_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_limit_install(kMostBytes);
  if (size < 2) return 0;
  const leat_string_view_t bytes = leat_string_view_make((const char*)data + 2, size - 2);
  leat_arena_t arena;
  leat_string_view_t sender;
  uint64_t incarnation;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  switch (data[0] % 5) {
    case 0: read_answer(bytes.data, bytes.size, data[1], 0); break;
    case 1: read_answer(bytes.data, bytes.size, data[1], 17000); break;
    case 2: read_content(bytes, &arena); break;
    case 3: leat_status_free(leat_rendezvous_key_parse(bytes, &sender, &incarnation)); break;
    default: read_cluster(bytes, &arena); break;
  }
  leat_arena_deinitialize(&arena);
  return 0;
}
