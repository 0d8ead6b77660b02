// Writes the programs of a collective's members. Room for chains and hops is taken once, for as
// many as the kind of collective can need. A chunk without elements has no chain.
//
// A broadcast goes down a binary tree of ranks whose root is the source. The ranks are numbered as
// in a heap; where the source is not rank 0 it stands before the heap, above ranks 0 and 1, and its
// own place in the heap offers as usual.
#include "kernel/collective_program.h"

#include "base/checked.h"

// TensorFlow begins each chunk of a reduction at a multiple of so many bytes.
#define CHUNK_ALIGNMENT 64
#define RING_HOPS 6       // of a chunk: merge, divide, offer or keep, take, offer; and one to spare
#define BROADCAST_HOPS 8  // take, and offers to two children, and to two more of the source

typedef struct writer_s {
  const leat_collective_call_t* call;
  leat_collective_program_t* program;
  int32_t rank;
  int32_t size;
  size_t element_bytes;
  leat_hop_t* next_hop;
} writer_t;

static void begin_chain(writer_t* w, char* bytes, int64_t count) {
  w->program->chains[w->program->chain_count++] =
      (leat_chain_t){.bytes = bytes, .count = count, .next = w->next_hop, .end = w->next_hop};
}

static void add_hop(writer_t* w, leat_hop_kind_t kind, int32_t peer, leat_hop_tag_t tag) {
  leat_chain_t* chain = &w->program->chains[w->program->chain_count - 1];
  *w->next_hop++ = (leat_hop_t){.kind = kind, .peer = peer, .tag = tag, .chain = chain};
  chain->end = w->next_hop;
}

static int32_t wrap(const writer_t* w, int64_t rank) {
  return (int32_t)((rank + w->size) % w->size);
}

// The two ways of a chunk along the ring: taken from the rank before, offered to the one behind.
static void take(writer_t* w, leat_hop_kind_t kind, int pass, int32_t chunk) {
  int32_t before = wrap(w, (int64_t)w->rank - 1);
  add_hop(w, kind, before, (leat_hop_tag_t){pass, chunk, before});
}

static void offer(writer_t* w, int pass, int32_t chunk) {
  add_hop(w, LEAT_HOP_OFFER, wrap(w, (int64_t)w->rank + 1),
          (leat_hop_tag_t){pass, chunk, w->rank});
}

// The first pass merges, and ends at the rank before the one where the chunk began. The second pass
// brings the result from there to the others.
static void add_reduction(writer_t* w, int32_t chunk) {
  int32_t last = wrap(w, (int64_t)chunk - 1), last_but_one = wrap(w, (int64_t)chunk - 2);
  if (w->rank != chunk) take(w, LEAT_HOP_MERGE, 0, chunk);
  if (w->rank != last) {
    offer(w, 0, chunk);
    take(w, LEAT_HOP_TAKE, 1, chunk);
  } else if (w->call->divides) {
    add_hop(w, LEAT_HOP_DIVIDE, w->rank, (leat_hop_tag_t){0, 0, 0});
  }
  if (w->rank != last_but_one) offer(w, 1, chunk);
}

// TensorFlow adds a whole alignment to a chunk that ends at one.
static int64_t aligned_chunk(int64_t count, int32_t size, size_t element_bytes) {
  int64_t each = count / size + (count % size != 0), bytes = each * (int64_t)element_bytes;
  return each + (CHUNK_ALIGNMENT - bytes % CHUNK_ALIGNMENT) / (int64_t)element_bytes;
}

static void write_reduce(writer_t* w) {
  const leat_collective_call_t* call = w->call;
  int64_t each = aligned_chunk(call->count, w->size, w->element_bytes), begin = 0;
  for (int32_t chunk = 0; chunk < w->size && begin < call->count; ++chunk, begin += each) {
    begin_chain(w, (char*)call->data + (size_t)begin * w->element_bytes,
                LEAT_MIN(each, call->count - begin));
    add_reduction(w, chunk);
  }
}

// The first pass of a reduction, with each chunk merged last at the rank that keeps it.
static void write_reduce_scatter(writer_t* w) {
  int64_t each = w->call->count / w->size;
  for (int32_t chunk = 0; chunk < w->size && each > 0; ++chunk) {
    begin_chain(w, (char*)w->call->data + (size_t)(chunk * each) * w->element_bytes, each);
    if (w->rank != wrap(w, (int64_t)chunk + 1)) take(w, LEAT_HOP_MERGE, 0, chunk);
    if (w->rank != chunk) {
      offer(w, 0, chunk);
      continue;
    }
    if (w->call->divides) add_hop(w, LEAT_HOP_DIVIDE, w->rank, (leat_hop_tag_t){0, 0, 0});
    add_hop(w, LEAT_HOP_KEEP, w->rank, (leat_hop_tag_t){0, 0, 0});
  }
}

static void write_gather(writer_t* w) {
  int64_t each = w->call->count / w->size;
  for (int32_t chunk = 0; chunk < w->size && each > 0; ++chunk) {
    begin_chain(w, (char*)w->call->data + (size_t)(chunk * each) * w->element_bytes, each);
    if (w->rank == chunk) {
      memcpy(w->program->chains[w->program->chain_count - 1].bytes, w->call->sent,
             (size_t)each * w->element_bytes);
    } else {
      take(w, LEAT_HOP_TAKE, 0, chunk);
    }
    if (w->rank != wrap(w, (int64_t)chunk - 1)) offer(w, 0, chunk);
  }
}

static void write_all_to_all(writer_t* w, const int32_t* places) {
  int64_t each = w->call->count / w->size;
  size_t bytes = (size_t)each * w->element_bytes;
  for (int32_t peer = 0; peer < w->size && each > 0; ++peer) {
    // An offer only reads its chunk.
    begin_chain(w, (char*)(uintptr_t)w->call->sent + (size_t)peer * bytes, each);
    add_hop(w, LEAT_HOP_OFFER, peer, (leat_hop_tag_t){w->rank, peer, 0});
    begin_chain(w, (char*)w->call->data + (size_t)places[peer] * bytes, each);
    add_hop(w, LEAT_HOP_TAKE, peer, (leat_hop_tag_t){peer, w->rank, 0});
  }
}

static void offer_to_child(writer_t* w, int64_t child, int32_t source) {
  if (child >= w->size || child == source) return;
  add_hop(w, LEAT_HOP_OFFER, (int32_t)child, (leat_hop_tag_t){0, w->rank, (int32_t)child});
}

static void write_broadcast(writer_t* w, int32_t source) {
  if (w->call->count == 0) return;
  begin_chain(w, w->call->data, w->call->count);
  if (w->rank != source) {
    int32_t parent = source == 0 ? (w->rank - 1) / 2 : w->rank / 2 - 1;
    if (parent < 0) parent = source;
    add_hop(w, LEAT_HOP_TAKE, parent, (leat_hop_tag_t){0, parent, w->rank});
  } else if (source != 0) {
    offer_to_child(w, 0, source);
    offer_to_child(w, 1, source);
  }
  int64_t child = source == 0 ? 2 * (int64_t)w->rank + 1 : 2 * ((int64_t)w->rank + 1);
  offer_to_child(w, child, source);
  offer_to_child(w, child + 1, source);
}

leat_status_t leat_collective_program_create(const leat_collective_call_t* call, int32_t rank,
                                             const leat_collective_group_t* group,
                                             leat_allocator_t* allocator,
                                             leat_collective_program_t* out_program) {
  LEAT_DCHECK(rank >= 0 && rank < call->group_size);
  bool is_tree = call->kind == LEAT_COLLECTIVE_BROADCAST;
  size_t chains = is_tree ? 1 : 2 * (size_t)call->group_size;
  *out_program = (leat_collective_program_t){0};
  if (call->kind == LEAT_COLLECTIVE_MEET) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, chains, &out_program->chains));
  leat_status_t status = LEAT_ALLOCATE(
      allocator, is_tree ? BROADCAST_HOPS : chains / 2 * RING_HOPS, &out_program->hops);
  if (status) {
    leat_collective_program_free(out_program, allocator);
    return status;
  }
  writer_t w = {.call = call, .program = out_program, .rank = rank, .size = call->group_size,
                .element_bytes = leat_dtype_size(call->dtype), .next_hop = out_program->hops};
  switch (call->kind) {
    case LEAT_COLLECTIVE_REDUCE: write_reduce(&w); break;
    case LEAT_COLLECTIVE_BROADCAST: write_broadcast(&w, group->source); break;
    case LEAT_COLLECTIVE_GATHER: write_gather(&w); break;
    case LEAT_COLLECTIVE_ALL_TO_ALL: write_all_to_all(&w, group->places); break;
    case LEAT_COLLECTIVE_REDUCE_SCATTER: write_reduce_scatter(&w); break;
    case LEAT_COLLECTIVE_MEET: break;
  }
  return leat_ok_status();
}

void leat_collective_program_free(leat_collective_program_t* program, leat_allocator_t* allocator) {
  leat_allocator_free(allocator, program->chains);
  leat_allocator_free(allocator, program->hops);
  *program = (leat_collective_program_t){0};
}
