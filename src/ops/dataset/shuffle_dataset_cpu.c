// Kernels of the shuffling datasets. A buffer is kept full, and each element that is given is
// chosen at random from it (a reservoir of |buffer_size| elements, not a shuffle of the whole
// input). The buffer is a ring of places, in which the elements of each pass over the input lie
// together:
//
//     | free | pass 3 ...... | pass 4 ... | free |
//             ^ begin         ^ end = begin of pass 4
//
// An element is chosen among those of the first pass that still has some; so no element of a pass
// comes before the last of the pass before it. The first element of that pass then moves to the
// place that became free, and |begin| advances. When a pass is used up, new seeds are drawn for the
// next one. A buffer size of UNKNOWN takes all of a pass into the buffer. Every random number is
// drawn as TensorFlow draws it, so that equal seeds give the same order.
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/seed_generator_cpu.h"
#include "ops/kernel_rows.h"

// At most so many passes are started while the buffer holds elements; see begin_pass for the one
// more.
#define MAX_PASSES 3

typedef struct shuffle_s {
  leat_dataset_t base;
  int64_t buffer_size;  // elements; LEAT_CARDINALITY_UNKNOWN: as many as a pass has
  int64_t count;        // passes over the input; -1: for ever
  leat_seed_generator_t* seeds;
} shuffle_t;

typedef struct pass_s {
  int64_t begin, end;  // numbers of places, which are taken modulo the size of the ring
  bool complete;  // the input has ended: all elements of the pass are in the ring or given
} pass_t;

typedef struct shuffle_iterator_s {
  leat_iterator_t base;
  leat_tensor_t* buffer;  // [room] elements, each of as many tensors as the spec has components
  size_t capacity;        // tensors for which |buffer| has memory
  int64_t room;           // places of the ring
  int64_t held;           // elements in the ring
  pass_t passes[MAX_PASSES + 1];
  int pass_count;
  int64_t begun;  // passes started so far
  bool is_open;   // the input has been opened and has not ended
  bool produced;  // the input has given an element in any pass
  leat_word_source_t words;
} shuffle_iterator_t;

static const shuffle_t* shuffle_of(const shuffle_iterator_t* it) {
  return (const shuffle_t*)it->base.dataset;
}

static bool takes_all(const shuffle_iterator_t* it) {
  return shuffle_of(it)->buffer_size == LEAT_CARDINALITY_UNKNOWN;
}

static void draw_seeds(shuffle_iterator_t* it) {
  int64_t seed, seed2;
  leat_seed_generator_next(shuffle_of(it)->seeds, &seed, &seed2);
  it->words = leat_word_source_make(seed, seed2);
}

static leat_status_t shuffle_start(leat_iterator_t* self) {
  shuffle_iterator_t* it = (shuffle_iterator_t*)self;
  if (!takes_all(it)) it->room = shuffle_of(it)->buffer_size;
  draw_seeds(it);
  return leat_ok_status();
}

static leat_tensor_t* element_at(shuffle_iterator_t* it, int64_t place) {
  return it->buffer + place * it->base.dataset->spec->count;
}

// Allocates the ring up to |place|. Memory grows as places are used, so that a buffer size much
// larger than the input costs nothing.
static leat_status_t reach(shuffle_iterator_t* it, int64_t place) {
  return LEAT_GROW(leat_allocator_system(),
                   ((size_t)place + 1) * (size_t)it->base.dataset->spec->count, &it->buffer,
                   &it->capacity);
}

static void shuffle_stop(leat_iterator_t* self) {
  shuffle_iterator_t* it = (shuffle_iterator_t*)self;
  for (size_t i = 0; i < it->capacity; ++i) leat_tensor_release(&it->buffer[i]);
  leat_allocator_free(leat_allocator_system(), it->buffer);
}

static void shuffle_destroy(leat_dataset_t* self) {
  shuffle_t* shuffle = (shuffle_t*)self;
  if (shuffle->seeds) leat_resource_release(leat_seed_generator_resource(shuffle->seeds));
}

// ---- Filling the buffer -------------------------------------------------------------------------

// True when the pass from which the next element is chosen is in the buffer as a whole.
static bool next_pass_is_complete(const shuffle_iterator_t* it) {
  for (int i = 0; i < it->pass_count; ++i) {
    if (it->passes[i].begin != it->passes[i].end) return it->passes[i].complete;
  }
  return false;
}

// True when another element should be read before one is given: the buffer has room, or it has to
// hold a whole pass and does not yet.
static bool wants_more(const shuffle_iterator_t* it) {
  int64_t count = shuffle_of(it)->count;
  if (!it->is_open && count >= 0 && it->begun >= count) return false;
  if (it->pass_count > MAX_PASSES && it->held > 0) return false;
  if (takes_all(it) && !next_pass_is_complete(it)) return true;
  return it->held < it->room;
}

// Drops the passes that have no elements left at the front; each one draws new seeds, as in
// TensorFlow.
static void drop_empty_passes(shuffle_iterator_t* it) {
  while (it->pass_count && it->passes[0].begin == it->passes[0].end) {
    --it->pass_count;
    for (int i = 0; i < it->pass_count; ++i) it->passes[i] = it->passes[i + 1];
    draw_seeds(it);
  }
}

static leat_status_t begin_pass(shuffle_iterator_t* it) {
  int64_t begin = it->pass_count ? it->passes[it->pass_count - 1].end : 0;
  LEAT_RETURN_IF_ERROR(leat_iterator_open_input(&it->base, it->base.dataset->inputs[0]));
  it->is_open = true;
  ++it->begun;
  // Beyond MAX_PASSES a pass is started only while the buffer is empty (wants_more), and then every
  // earlier pass is empty and is dropped here.
  if (it->pass_count > MAX_PASSES) drop_empty_passes(it);
  it->passes[it->pass_count++] = (pass_t){begin, begin, false};
  return leat_ok_status();
}

// The place for the next element that is read: behind all others. The ring grows by one place only
// where it takes whole passes; elsewhere a free place exists.
static int64_t free_place(const shuffle_iterator_t* it) {
  if (it->held == it->room) return it->room;  // only where all of a pass is taken
  return it->passes[it->pass_count - 1].end % it->room;
}

// Reads elements until wants_more() is false. |*out_poll| is ELEMENT when the buffer holds one, END
// when all passes are used up, and PENDING when the input waits.
static leat_status_t fill(shuffle_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  *out_poll = LEAT_POLL_ELEMENT;
  while (wants_more(it)) {
    if (!it->is_open) LEAT_RETURN_IF_ERROR(begin_pass(it));
    int64_t place = free_place(it);
    LEAT_RETURN_IF_ERROR(reach(it, place));
    LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, element_at(it, place), out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    if (*out_poll == LEAT_POLL_ELEMENT) {
      it->produced = true;
      if (place == it->room) ++it->room;
      ++it->held;
      ++it->passes[it->pass_count - 1].end;
      continue;
    }
    it->passes[it->pass_count - 1].complete = true;
    it->is_open = false;
    // An empty input that is read for ever would never give an element, so that it ends here.
    if (!it->produced && shuffle_of(it)->count < 0) break;
  }
  *out_poll = it->held ? LEAT_POLL_ELEMENT : LEAT_POLL_END;
  return leat_ok_status();
}

static leat_status_t shuffle_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  shuffle_iterator_t* it = (shuffle_iterator_t*)self;
  int components = self->dataset->spec->count;
  LEAT_RETURN_IF_ERROR(fill(it, pull, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  drop_empty_passes(it);
  pass_t* pass = &it->passes[0];
  int64_t offset = (int64_t)leat_word_source_next(&it->words) % (pass->end - pass->begin);
  int64_t chosen = (pass->begin + offset) % it->room, first = pass->begin % it->room;
  leat_element_move(element_at(it, chosen), out, components);
  if (chosen != first) leat_element_move(element_at(it, first), element_at(it, chosen), components);
  ++pass->begin;
  --it->held;
  return leat_ok_status();
}

static int64_t shuffle_cardinality(const leat_dataset_t* self) {
  int64_t count = ((const shuffle_t*)self)->count, n = leat_dataset_cardinality(self->inputs[0]);
  if (count < 0) return LEAT_CARDINALITY_INFINITE;
  return n < 0 ? n : (int64_t)((uint64_t)n * (uint64_t)count);
}

static const leat_dataset_kind_t kShuffle = {.name = "Shuffle",
                                             .dataset_bytes = sizeof(shuffle_t),
                                             .iterator_bytes = sizeof(shuffle_iterator_t),
                                             .destroy = shuffle_destroy,
                                             .start = shuffle_start,
                                             .next = shuffle_next,
                                             .stop = shuffle_stop,
                                             .cardinality = shuffle_cardinality};

// ---- Kernels ------------------------------------------------------------------------------------

// The numbers of the inputs at which an op has its arguments; -1: the op does not have the
// argument.
typedef struct arguments_s {
  int8_t seed, count, generator;
} arguments_t;

static leat_status_t make(leat_kernel_context_t* c, arguments_t at) {
  int64_t buffer_size, count = 1;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "buffer_size", &buffer_size));
  if (buffer_size <= 0 && buffer_size != LEAT_CARDINALITY_UNKNOWN) {
    return leat_kernel_invalid(c, "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  }
  if (at.count >= 0) LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, at.count, "count", &count));
  if (count == 0 || count < -1) {
    return leat_kernel_invalid(c, "count must be greater than zero or equal to -1.");
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kShuffle, &dataset));
  shuffle_t* shuffle = (shuffle_t*)dataset;
  shuffle->buffer_size = buffer_size;
  shuffle->count = count;
  leat_status_t status = leat_seed_generator_open(
      c, at.seed, at.generator, *(const bool*)leat_kernel_state(c), &shuffle->seeds);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t shuffle__cpu(leat_kernel_context_t* c) {
  return make(c, (arguments_t){.seed = 2, .count = -1, .generator = -1});
}
static leat_status_t shuffle_v2__cpu(leat_kernel_context_t* c) {
  return make(c, (arguments_t){.seed = -1, .count = -1, .generator = 2});
}
static leat_status_t shuffle_v3__cpu(leat_kernel_context_t* c) {
  return make(c, (arguments_t){.seed = 2, .count = -1, .generator = 4});
}
static leat_status_t shuffle_and_repeat__cpu(leat_kernel_context_t* c) {
  return make(c, (arguments_t){.seed = 2, .count = 4, .generator = -1});
}
static leat_status_t shuffle_and_repeat_v2__cpu(leat_kernel_context_t* c) {
  return make(c, (arguments_t){.seed = 2, .count = 4, .generator = 5});
}

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  return leat_kernel_attr_bool(c, "reshuffle_each_iteration", state);
}

static leat_status_t create_reshuffling(leat_kernel_creation_t* c, void* state) {
  *(bool*)state = true;
  return leat_element_metadata_create(c, state);
}

#define KERNEL(name, make_state, how)                       \
  LEAT_CPU_KERNEL(name, NULL, bool, make_state, how##__cpu)

const leat_kernel_row_t leat_shuffle_dataset_kernels_cpu[] = {
    KERNEL("ShuffleDataset", create, shuffle),
    KERNEL("ShuffleDatasetV2", create_reshuffling, shuffle_v2),
    KERNEL("ShuffleDatasetV3", create, shuffle_v3),
    KERNEL("ShuffleAndRepeatDataset", create, shuffle_and_repeat),
    KERNEL("ShuffleAndRepeatDatasetV2", create, shuffle_and_repeat_v2),
    LEAT_KERNEL_ROWS_END,
};
