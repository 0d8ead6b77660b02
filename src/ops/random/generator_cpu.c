// The generators of stateful random ops. A generator is a resource of the session, found by node
// name and seeds, so that all plans of the session that hold the node share it, and it moves on
// from step to step. It ends with the session, also in a task of a cluster, whose other resources
// do not: the next session begins at the seeds again, as in TensorFlow. A node without seeds gets a
// generator of its own, seeded by the operating system. The lock is held while the counter is read
// and moved, never while numbers are made.
#include "ops/random/generator_cpu.h"

#include "base/string_builder.h"
#include "kernel/draw_counts.h"
#include "kernel/resource.h"

// What the kernels of a node share.
typedef struct sequence_s {
  leat_resource_t resource;
  leat_philox_t first;  // as the seeds have it
  leat_mutex_t mutex;
  leat_philox_t philox;  // under the mutex
} sequence_t;

// A kernel's own. Nodes of two functions may have the same name, so that they share a sequence; an
// iterator that calls both still gives each the whole of it.
struct leat_generator_s {
  sequence_t* sequence;
  uint64_t number;  // among all generators; 0: it has no seeds
};

static void sequence_destroy(leat_resource_t* resource) {
  leat_mutex_deinitialize(&((sequence_t*)resource)->mutex);
  leat_allocator_free(leat_allocator_system(), resource);
}

static const leat_resource_kind_t kSequenceKind = {.name = "Generator",
                                                   .destroy = sequence_destroy};

typedef struct seeds_s {
  int64_t seed, seed2;
  bool are_given;  // and not the operating system's
} seeds_t;

// Numbers generators. Other than an address, a number is never used again.
static _Atomic(uint64_t) generator_count;

static leat_status_t make_sequence(void* data, leat_resource_t** out_resource) {
  const seeds_t* seeds = data;
  void* memory;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof(sequence_t), &memory));
  sequence_t* sequence = memory;
  sequence->resource.kind = &kSequenceKind;
  atomic_init(&sequence->resource.references, 1);
  leat_mutex_initialize(&sequence->mutex);
  sequence->first = leat_philox_make((uint64_t)seeds->seed, (uint64_t)seeds->seed2);
  sequence->philox = sequence->first;
  *out_resource = &sequence->resource;
  return leat_ok_status();
}

// Finds the sequence of the node, or makes it. The seeds are part of its name, because nodes of
// two function bodies may have the same name.
static leat_status_t find_shared(leat_kernel_creation_t* c, seeds_t* seeds,
                                 leat_resource_t** out_resource) {
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_print(&name, "%lld;%lld;%.*s", (long long)seeds->seed,
                            (long long)seeds->seed2, LEAT_SV_ARG(c->kernel->node_name));
  leat_status_t status = name.status;
  name.status = leat_ok_status();
  if (!status) {
    status = leat_resource_manager_find_or_make(
        c->session_resources, LEAT_SV(""), leat_string_builder_view(&name), &kSequenceKind,
        make_sequence, seeds, out_resource);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

leat_status_t leat_generator_open(leat_kernel_creation_t* c, leat_generator_t** out_generator) {
  seeds_t seeds;
  leat_resource_t* resource = NULL;
  *out_generator = NULL;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "seed", &seeds.seed));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "seed2", &seeds.seed2));
  seeds.are_given = seeds.seed != 0 || seeds.seed2 != 0;
  if (!seeds.are_given) {
    seeds.seed = (int64_t)leat_random_seed();
    seeds.seed2 = (int64_t)leat_random_seed();
  }
  if (seeds.are_given && c->session_resources) {
    LEAT_RETURN_IF_ERROR(find_shared(c, &seeds, &resource));
  } else {
    LEAT_RETURN_IF_ERROR(make_sequence(&seeds, &resource));
  }
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, out_generator);
  if (status) {
    leat_resource_release(resource);
    return status;
  }
  (*out_generator)->sequence = (sequence_t*)resource;
  if (seeds.are_given) (*out_generator)->number = atomic_fetch_add(&generator_count, 1) + 1;
  return leat_ok_status();
}

void leat_generator_release(leat_generator_t* generator) {
  if (!generator) return;
  leat_resource_release(&generator->sequence->resource);
  leat_allocator_free(leat_allocator_system(), generator);
}

leat_status_t leat_generator_reserve(const leat_kernel_context_t* c, leat_generator_t* generator,
                                     uint64_t samples, leat_philox_t* out_philox) {
  leat_draw_counts_t* counts = c->services->draw_counts;
  sequence_t* sequence = generator->sequence;
  if (counts && generator->number) {
    uint64_t drawn;
    LEAT_RETURN_IF_ERROR(leat_draw_counts_add(counts, generator->number, samples, &drawn));
    *out_philox = sequence->first;
    leat_philox_skip(out_philox, drawn);
    return leat_ok_status();
  }
  leat_mutex_lock(&sequence->mutex);
  *out_philox = sequence->philox;
  leat_philox_skip(&sequence->philox, samples);
  leat_mutex_unlock(&sequence->mutex);
  return leat_ok_status();
}

leat_status_t leat_generator_state_create(leat_kernel_creation_t* c, void* state) {
  return leat_generator_open(c, &((leat_generator_state_t*)state)->generator);
}

void leat_generator_state_destroy(void* state) {
  leat_generator_release(((leat_generator_state_t*)state)->generator);
}
