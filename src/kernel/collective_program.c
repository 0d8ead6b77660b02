// Writes the programs of a collective's members. Room for chains and hops is taken once, for as
// many as the kind of collective can need. A chunk without elements has no chain.
//
// A ring goes from task to task, and within a task from device to device: from the first one on, or
// as an offset of the op says. With the offset k it begins at device k of each task, and with -k,
// the devices being counted from the last one, at that device k and goes down. Of two tasks with
// the devices a b c and d e f, the offsets 0, 1 and -1 give the rings
//
//   a b c d e f      b c a e f d      b a c e d f
//
// A broadcast goes down binary trees: one of a member from each task, whose root is the source, and
// then one in each task, below its member of the first. The places in a tree are numbered as in a
// heap; where the root is not place 0 it stands before the heap, above places 0 and 1, and its own
// place in the heap offers as usual.
#include "kernel/collective_program.h"

#include "base/checked.h"

// TensorFlow begins each chunk of a reduction at a multiple of so many bytes.
#define CHUNK_ALIGNMENT 64
#define RING_HOPS 6        // of a chunk: merge, offer, take, offer, and two within a host
#define BROADCAST_HOPS 10  // two trees: take, and offers to two children and to two more of a root
// As in TensorFlow, chunks of more bytes than these get further rings, where the op allows them.
#define CHUNK_BYTES (4 << 20)
#define RINGS_OF_A_DEVICE 2
// A reduction of at most so many bytes goes in pairs where it may.
#define PAIRS_BYTES (64 << 10)
// By hosts, a chunk has about so many bytes: while one is between hosts others are within them.
#define HOST_CHUNK_BYTES (512 << 10)
#define MAX_HOST_CHUNKS 16  // for each host

// Where the member stands in a ring.
typedef struct ring_s {
  int32_t size, place;
  int32_t before, behind;  // ranks of its neighbours
} ring_t;

typedef struct writer_s {
  const leat_collective_call_t* call;
  const leat_collective_group_t* group;
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

static int32_t wrap(int32_t size, int64_t place) { return (int32_t)((place + size) % size); }

// ---- Rings --------------------------------------------------------------------------------------

// The ranks of a task's members.
typedef struct range_s {
  int32_t begin, size;
} range_t;

// The task that has the rank or, since both count alike, the place |rank| in a ring.
static int32_t task_of(const writer_t* w, int32_t rank) {
  int32_t task = 0;
  while (task + 1 < w->group->task_count && w->group->starts[task + 1] <= rank) ++task;
  return task;
}

static range_t range_of(const writer_t* w, int32_t task) {
  if (w->group->task_count == 0) return (range_t){0, w->size};
  const int32_t* starts = w->group->starts;
  return (range_t){starts[task], starts[task + 1] - starts[task]};
}

// The rank at a place of the ring with the offset.
static int32_t rank_at(const writer_t* w, int64_t offset, int32_t place) {
  const range_t range = range_of(w, task_of(w, place));
  const int64_t steps = offset < 0 ? -offset : offset;
  const int32_t device = (int32_t)((place - range.begin + steps) % range.size);
  return range.begin + (offset < 0 ? range.size - 1 - device : device);
}

static ring_t make_ring(const writer_t* w, int64_t offset) {
  ring_t ring = {.size = w->size, .place = range_of(w, task_of(w, w->rank)).begin};
  while (rank_at(w, offset, ring.place) != w->rank) ++ring.place;
  ring.before = rank_at(w, offset, wrap(w->size, (int64_t)ring.place - 1));
  ring.behind = rank_at(w, offset, wrap(w->size, (int64_t)ring.place + 1));
  return ring;
}

// The two ways of a chunk along the ring: taken from the member before, offered to the one behind.
static void take(writer_t* w, const ring_t* ring, leat_hop_kind_t kind, int pass, int32_t section) {
  add_hop(w, kind, ring->before,
          (leat_hop_tag_t){pass, section, wrap(ring->size, (int64_t)ring->place - 1)});
}

static void offer(writer_t* w, const ring_t* ring, int pass, int32_t section) {
  add_hop(w, LEAT_HOP_OFFER, ring->behind, (leat_hop_tag_t){pass, section, ring->place});
}

// The first pass merges, and ends at the place before the one where the chunk began, |first|. The
// second pass brings the result from there to the others. |section| numbers the chunks of all
// rings.
static void add_reduction(writer_t* w, const ring_t* ring, int32_t first, int32_t section) {
  const int32_t last = wrap(ring->size, (int64_t)first - 1);
  const int32_t last_but_one = wrap(ring->size, (int64_t)first - 2);
  if (ring->place != first) take(w, ring, LEAT_HOP_MERGE, 0, section);
  if (ring->place != last) {
    offer(w, ring, 0, section);
    take(w, ring, LEAT_HOP_TAKE, 1, section);
  } else if (w->call->divides) {
    add_hop(w, LEAT_HOP_DIVIDE, w->rank, (leat_hop_tag_t){0, 0, 0});
  }
  if (ring->place != last_but_one) offer(w, ring, 1, section);
}

// TensorFlow adds a whole alignment to a chunk that ends at one.
static int64_t aligned_chunk(int64_t count, int64_t chunks, size_t element_bytes) {
  int64_t each = count / chunks + (count % chunks != 0), bytes = each * (int64_t)element_bytes;
  return each + (CHUNK_ALIGNMENT - bytes % CHUNK_ALIGNMENT) / (int64_t)element_bytes;
}

// How many rings a reduction has whose op states no offsets.
static int32_t count_rings(const leat_collective_call_t* call,
                           const leat_collective_group_t* group) {
  if (call->subdiv_count > 0) return call->subdiv_count;
  if (call->max_subdivs < 0) return 1;
  const int32_t devices = call->group_size / LEAT_MAX(group->task_count, 1);
  const int64_t limit =
      (int64_t)(call->max_subdivs ? call->max_subdivs : RINGS_OF_A_DEVICE) * devices;
  const int64_t bytes = call->count * (int64_t)leat_dtype_size(call->dtype);
  int32_t rings = 1;
  while (bytes / ((int64_t)call->group_size * rings) > CHUNK_BYTES && rings < limit) ++rings;
  return rings;
}

// The offset of a ring: the op's or, one up and one down, spread over the devices of a task.
static int64_t offset_of(const writer_t* w, int32_t ring, int32_t rings) {
  if (w->call->subdiv_count > 0) return w->call->subdiv_offsets[ring];
  const int32_t devices = w->size / LEAT_MAX(w->group->task_count, 1);
  const int64_t offset = (int64_t)ring * LEAT_MAX(devices / rings, 1);
  return ring % 2 ? -offset : offset;
}

static void write_reduce(writer_t* w, int32_t rings) {
  const leat_collective_call_t* call = w->call;
  const int64_t each = aligned_chunk(call->count, (int64_t)w->size * rings, w->element_bytes);
  for (int32_t i = 0; i < rings; ++i) {
    const ring_t ring = make_ring(w, offset_of(w, i, rings));
    for (int32_t first = 0; first < w->size; ++first) {
      const int32_t section = first * rings + i;
      const int64_t begin = section * each;
      if (begin >= call->count) break;
      begin_chain(w, (char*)call->data + (size_t)begin * w->element_bytes,
                  LEAT_MIN(each, call->count - begin));
      add_reduction(w, &ring, first, section);
    }
  }
}

// ---- Pairs --------------------------------------------------------------------------------------

// The passes of an exchange in pairs and within a host, as tags name them.
enum { PASS_IN = 2, PASS_OUT, PASS_PAIRS, PASS_SELF, PASS_TO_LEADER, PASS_FROM_LEADER };

// The largest power of two that is not above |size|.
static int32_t paired_members(int32_t size) {
  int32_t count = 1;
  while (count <= size / 2) count *= 2;
  return count;
}

// Whether a reduction may go otherwise than around TensorFlow's rings.
static bool may_choose(const leat_collective_call_t* call, const leat_collective_group_t* group) {
  const bool has_rings = call->subdiv_count > 1 || call->max_subdivs >= 0 ||
                         (call->subdiv_count == 1 && call->subdiv_offsets[0] != 0);
  return call->kind == LEAT_COLLECTIVE_REDUCE && group->is_alike && call->group_size > 1 &&
         !has_rings && call->count > 0;
}

static bool goes_in_pairs(const leat_collective_call_t* call,
                          const leat_collective_group_t* group) {
  return may_choose(call, group) &&
         call->count * (int64_t)leat_dtype_size(call->dtype) <= PAIRS_BYTES;
}

// Offers what the chain has to the partner at |distance|, and to the member's own next chain.
static void offer_to_pair(writer_t* w, int32_t distance) {
  add_hop(w, LEAT_HOP_OFFER, w->rank ^ distance, (leat_hop_tag_t){PASS_PAIRS, distance, w->rank});
  add_hop(w, LEAT_HOP_OFFER, w->rank, (leat_hop_tag_t){PASS_SELF, distance, w->rank});
}

// Each distance has a chain, with a chunk of its own: what it offers must stay as it is until it is
// taken, while the next chain has more already. The chunk of the last one is the result. The lower
// rank's elements come first in each merge, so that both members get the same bits.
static leat_status_t write_pairs(writer_t* w, leat_allocator_t* allocator) {
  const leat_collective_call_t* call = w->call;
  const int32_t paired = paired_members(w->size), rank = w->rank;
  const size_t bytes = (size_t)call->count * w->element_bytes;
  const size_t stride = (bytes + CHUNK_ALIGNMENT - 1) / CHUNK_ALIGNMENT * CHUNK_ALIGNMENT;
  int32_t distances = 0;
  while (1 << distances < paired) ++distances;
  if (rank >= paired) {
    begin_chain(w, call->data, call->count);
    add_hop(w, LEAT_HOP_OFFER, rank - paired, (leat_hop_tag_t){PASS_IN, 0, rank});
    add_hop(w, LEAT_HOP_TAKE, rank - paired, (leat_hop_tag_t){PASS_OUT, 0, rank - paired});
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      allocator, CHUNK_ALIGNMENT, stride * (size_t)distances, (void**)&w->program->memory));
  memcpy(w->program->memory, call->data, bytes);
  begin_chain(w, w->program->memory, call->count);
  if (rank + paired < w->size) {
    add_hop(w, LEAT_HOP_MERGE, rank + paired, (leat_hop_tag_t){PASS_IN, 0, rank + paired});
  }
  for (int32_t i = 0; i < distances; ++i) {
    const int32_t distance = 1 << i, peer = rank ^ distance;
    offer_to_pair(w, distance);
    begin_chain(w, i + 1 < distances ? w->program->memory + stride * (size_t)(i + 1) : call->data,
                call->count);
    add_hop(w, LEAT_HOP_TAKE, peer, (leat_hop_tag_t){PASS_PAIRS, distance, peer});
    add_hop(w, rank < peer ? LEAT_HOP_MERGE_BEHIND : LEAT_HOP_MERGE, rank,
            (leat_hop_tag_t){PASS_SELF, distance, rank});
  }
  if (call->divides) add_hop(w, LEAT_HOP_DIVIDE, rank, (leat_hop_tag_t){0, 0, 0});
  if (rank + paired < w->size) {
    add_hop(w, LEAT_HOP_OFFER, rank + paired, (leat_hop_tag_t){PASS_OUT, 0, rank});
  }
  return leat_ok_status();
}

// ---- Hosts --------------------------------------------------------------------------------------

// How many hosts the group is on; 0 where it does not go by hosts: there is one, or each member has
// one of its own.
static int32_t count_hosts(const leat_collective_call_t* call,
                           const leat_collective_group_t* group) {
  int32_t hosts = 0;
  if (!may_choose(call, group) || goes_in_pairs(call, group) || !group->leaders) return 0;
  for (int32_t rank = 0; rank < call->group_size; ++rank) hosts += group->leaders[rank] == rank;
  return hosts > 1 && hosts < call->group_size ? hosts : 0;
}

static int32_t count_host_chunks(const leat_collective_call_t* call, int32_t hosts) {
  const int64_t bytes = call->count * (int64_t)leat_dtype_size(call->dtype);
  const int64_t chunks = bytes / ((int64_t)hosts * HOST_CHUNK_BYTES) + 1;
  return (int32_t)LEAT_MIN(chunks, MAX_HOST_CHUNKS);
}

// The next rank on the member's host above it, or with |step| -1 below; -1: there is none.
static int32_t neighbour_on_host(const writer_t* w, int32_t step) {
  const int32_t* leaders = w->group->leaders;
  int32_t rank = w->rank + step;
  while (rank >= 0 && rank < w->size && leaders[rank] != leaders[w->rank]) rank += step;
  return rank < w->size ? rank : -1;
}

// The ring of the leaders by rank, as their member |w->rank| sees it.
static ring_t make_leader_ring(const writer_t* w, int32_t hosts) {
  ring_t ring = {.size = hosts, .before = -1, .behind = -1};
  int32_t first = -1, last = -1;
  for (int32_t rank = 0; rank < w->size; ++rank) {
    if (w->group->leaders[rank] != rank) continue;
    if (first < 0) first = rank;
    if (rank < w->rank) {
      ring.before = rank;
      ++ring.place;
    }
    if (rank > w->rank && ring.behind < 0) ring.behind = rank;
    last = rank;
  }
  if (ring.before < 0) ring.before = last;
  if (ring.behind < 0) ring.behind = first;
  return ring;
}

static void write_by_hosts(writer_t* w, int32_t hosts, int32_t chunks) {
  const leat_collective_call_t* call = w->call;
  const int64_t each = aligned_chunk(call->count, (int64_t)hosts * chunks, w->element_bytes);
  const bool leads = w->group->leaders[w->rank] == w->rank;
  const int32_t below = neighbour_on_host(w, -1), above = neighbour_on_host(w, 1);
  const ring_t ring = make_leader_ring(w, hosts);
  for (int32_t section = 0; section < hosts * chunks; ++section) {
    const int64_t begin = section * each;
    if (begin >= call->count) break;
    begin_chain(w, (char*)call->data + (size_t)begin * w->element_bytes,
                LEAT_MIN(each, call->count - begin));
    if (above >= 0) {
      add_hop(w, LEAT_HOP_MERGE, above, (leat_hop_tag_t){PASS_TO_LEADER, section, above});
    }
    if (leads) {
      add_reduction(w, &ring, section % hosts, section);
    } else {
      add_hop(w, LEAT_HOP_OFFER, below, (leat_hop_tag_t){PASS_TO_LEADER, section, w->rank});
      add_hop(w, LEAT_HOP_TAKE, below, (leat_hop_tag_t){PASS_FROM_LEADER, section, below});
    }
    if (above >= 0) {
      add_hop(w, LEAT_HOP_OFFER, above, (leat_hop_tag_t){PASS_FROM_LEADER, section, w->rank});
    }
  }
}

// ---- More rings ---------------------------------------------------------------------------------

// The first pass of a reduction, with each chunk merged last at the rank that keeps it.
static void write_reduce_scatter(writer_t* w) {
  const ring_t ring = make_ring(w, 0);
  int64_t each = w->call->count / w->size;
  for (int32_t chunk = 0; chunk < w->size && each > 0; ++chunk) {
    begin_chain(w, (char*)w->call->data + (size_t)(chunk * each) * w->element_bytes, each);
    if (w->rank != wrap(w->size, (int64_t)chunk + 1)) take(w, &ring, LEAT_HOP_MERGE, 0, chunk);
    if (w->rank != chunk) {
      offer(w, &ring, 0, chunk);
      continue;
    }
    if (w->call->divides) add_hop(w, LEAT_HOP_DIVIDE, w->rank, (leat_hop_tag_t){0, 0, 0});
    add_hop(w, LEAT_HOP_KEEP, w->rank, (leat_hop_tag_t){0, 0, 0});
  }
}

static void write_gather(writer_t* w) {
  const ring_t ring = make_ring(w, 0);
  int64_t each = w->call->count / w->size;
  for (int32_t chunk = 0; chunk < w->size && each > 0; ++chunk) {
    begin_chain(w, (char*)w->call->data + (size_t)(chunk * each) * w->element_bytes, each);
    if (w->rank == chunk) {
      memcpy(w->program->chains[w->program->chain_count - 1].bytes, w->call->sent,
             (size_t)each * w->element_bytes);
    } else {
      take(w, &ring, LEAT_HOP_TAKE, 0, chunk);
    }
    if (w->rank != wrap(w->size, (int64_t)chunk - 1)) offer(w, &ring, 0, chunk);
  }
}

// ---- All to all ---------------------------------------------------------------------------------

static void write_all_to_all(writer_t* w) {
  const int32_t* places = w->call->places;
  int64_t each = w->call->count / w->size;
  size_t bytes = (size_t)each * w->element_bytes;
  for (int32_t peer = 0; peer < w->size && each > 0; ++peer) {
    const int32_t place = places ? places[peer] : peer;
    // An offer only reads its chunk.
    begin_chain(w, (char*)(uintptr_t)w->call->sent + (size_t)peer * bytes, each);
    add_hop(w, LEAT_HOP_OFFER, peer, (leat_hop_tag_t){w->rank, peer, 0});
    begin_chain(w, (char*)w->call->data + (size_t)place * bytes, each);
    add_hop(w, LEAT_HOP_TAKE, peer, (leat_hop_tag_t){peer, w->rank, 0});
  }
}

// ---- Trees --------------------------------------------------------------------------------------

// A tree that the member has a place in.
typedef struct tree_s {
  int32_t number;
  int32_t size;
  int32_t place, root;
  int32_t first;  // the rank at place 0; negative: places are tasks
} tree_t;

// The rank of the member that stands for a task in the tree over tasks.
static int32_t speaker_of(const writer_t* w, int32_t task) {
  const range_t range = range_of(w, task);
  const int32_t source = w->group->source;
  return source >= range.begin && source < range.begin + range.size ? source : range.begin;
}

static int32_t rank_in_tree(const writer_t* w, const tree_t* tree, int32_t place) {
  return tree->first < 0 ? speaker_of(w, place) : tree->first + place;
}

static void offer_to_child(writer_t* w, const tree_t* tree, int64_t child) {
  if (child >= tree->size || child == tree->root) return;
  add_hop(w, LEAT_HOP_OFFER, rank_in_tree(w, tree, (int32_t)child),
          (leat_hop_tag_t){tree->number, tree->place, (int32_t)child});
}

static void add_tree(writer_t* w, const tree_t* tree) {
  const int32_t place = tree->place;
  if (place != tree->root) {
    int32_t parent = tree->root == 0 ? (place - 1) / 2 : place / 2 - 1;
    if (parent < 0) parent = tree->root;
    add_hop(w, LEAT_HOP_TAKE, rank_in_tree(w, tree, parent),
            (leat_hop_tag_t){tree->number, parent, place});
  } else if (tree->root != 0) {
    offer_to_child(w, tree, 0);
    offer_to_child(w, tree, 1);
  }
  const int64_t child = tree->root == 0 ? 2 * (int64_t)place + 1 : 2 * ((int64_t)place + 1);
  offer_to_child(w, tree, child);
  offer_to_child(w, tree, child + 1);
}

// With several tasks, tree 0 is the one over them and tree i + 1 that within task i.
static void write_broadcast(writer_t* w) {
  const int32_t tasks = w->group->task_count, task = task_of(w, w->rank);
  const range_t range = range_of(w, task);
  const int32_t speaker = speaker_of(w, task);
  if (w->call->count == 0) return;
  begin_chain(w, w->call->data, w->call->count);
  if (tasks > 1 && w->rank == speaker) {
    add_tree(w, &(tree_t){.size = tasks, .place = task, .root = task_of(w, w->group->source),
                          .first = -1});
  }
  add_tree(w, &(tree_t){.number = tasks > 1 ? task + 1 : 0, .size = range.size,
                        .place = w->rank - range.begin, .root = speaker - range.begin,
                        .first = range.begin});
}

// ---- Programs -----------------------------------------------------------------------------------

leat_status_t leat_collective_program_create(const leat_collective_call_t* call, int32_t rank,
                                             const leat_collective_group_t* group,
                                             leat_allocator_t* allocator,
                                             leat_collective_program_t* out_program) {
  LEAT_DCHECK(rank >= 0 && rank < call->group_size);
  bool is_tree = call->kind == LEAT_COLLECTIVE_BROADCAST;
  const int32_t hosts = count_hosts(call, group);
  const int32_t rings = hosts                                  ? count_host_chunks(call, hosts)
                        : call->kind == LEAT_COLLECTIVE_REDUCE ? count_rings(call, group)
                                                               : 1;
  size_t chains = is_tree ? 1 : 2 * (size_t)call->group_size * (size_t)rings;
  *out_program = (leat_collective_program_t){0};
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, chains, &out_program->chains));
  leat_status_t status = LEAT_ALLOCATE(
      allocator, is_tree ? BROADCAST_HOPS : chains / 2 * RING_HOPS, &out_program->hops);
  writer_t w = {.call = call, .group = group, .program = out_program, .rank = rank,
                .size = call->group_size, .element_bytes = leat_dtype_size(call->dtype),
                .next_hop = out_program->hops};
  if (status) {
    leat_collective_program_free(out_program, allocator);
    return status;
  }
  if (goes_in_pairs(call, group)) {
    status = write_pairs(&w, allocator);
    if (status) leat_collective_program_free(out_program, allocator);
    return status;
  }
  if (hosts) {
    write_by_hosts(&w, hosts, rings);
    return leat_ok_status();
  }
  switch (call->kind) {
    case LEAT_COLLECTIVE_REDUCE: write_reduce(&w, rings); break;
    case LEAT_COLLECTIVE_BROADCAST: write_broadcast(&w); break;
    case LEAT_COLLECTIVE_GATHER: write_gather(&w); break;
    case LEAT_COLLECTIVE_ALL_TO_ALL: write_all_to_all(&w); break;
    case LEAT_COLLECTIVE_REDUCE_SCATTER: write_reduce_scatter(&w); break;
  }
  return leat_ok_status();
}

void leat_collective_program_free(leat_collective_program_t* program, leat_allocator_t* allocator) {
  leat_allocator_free(allocator, program->chains);
  leat_allocator_free(allocator, program->hops);
  leat_allocator_free(allocator, program->memory);
  *program = (leat_collective_program_t){0};
}
