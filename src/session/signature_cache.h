// The signatures of a session: for each combination of feeds, fetches and targets that has been
// run, what the master made of it. A signature is compiled once and lives as long as the session,
// since every later step with the same combination must not pay for it again. The session owns one
// cache, and its threads use it at once. Finding takes no lock, because every step begins with it;
// making lets one thread compile while others that want the same signature wait.
//
//   leat_signature_t* signature = leat_signature_cache_find(&cache, run);       // no lock
//   if (!signature) {
//     LEAT_RETURN_IF_ERROR(
//         leat_signature_cache_make(&cache, run, deadline_ns, compile, session, &signature));
//   }
#ifndef LEAT_SESSION_SIGNATURE_CACHE_H_
#define LEAT_SESSION_SIGNATURE_CACHE_H_

#include "base/map.h"
#include "base/sync.h"
#include "session/plans.h"
#include "session/session.h"

// A signature begins as COMPILING and ends as READY, for good, or as FAILED, which takes it out of
// the cache.
typedef enum leat_signature_state_e {
  LEAT_SIGNATURE_COMPILING,
  LEAT_SIGNATURE_READY,
  LEAT_SIGNATURE_FAILED,
} leat_signature_state_t;

// One combination. The edges are copies of those of the first run, in their order: the same fetches
// in another order are another signature.
struct leat_signature_s {
  uint64_t hash;
  leat_output_t* feeds;
  leat_output_t* fetches;
  int32_t* targets;
  int feed_count, fetch_count, target_count;
  // Set by whoever compiles it; read by others only when it is READY.
  int* feed_types;  // base types, feed_count
  bool echoes;      // something is fed and fetched
  leat_plans_t plans;
  _Atomic(int64_t) step_count;  // where steps are measured
  // Under the cache's mutex.
  leat_signature_state_t state;
  size_t place;          // its index in |items|, while it is not FAILED
  int waiters;           // threads that wait until it is compiled
  leat_status_t status;  // of one that FAILED
};

// Gives |inout_run| the edges of the signature, which are borrowed.
static inline void leat_signature_edges(const leat_signature_t* s, leat_run_t* inout_run) {
  inout_run->feeds = s->feeds;
  inout_run->feed_count = s->feed_count;
  inout_run->fetches = s->fetches;
  inout_run->fetch_count = s->fetch_count;
  inout_run->targets = s->targets;
  inout_run->target_count = s->target_count;
}

// So many signatures at most are found without a lock besides the latest.
#define LEAT_SIGNATURE_SHORT_CUTS 16

typedef struct leat_signature_cache_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;
  leat_condition_t changed;  // a signature is no longer COMPILING
  // Under |mutex|: those that are READY or COMPILING.
  leat_word_map_t by_hash;   // hash -> index of the newest
  leat_signature_t** items;
  size_t count, capacity;
  // Without it: those that are READY, for the way of a step.
  _Atomic(leat_signature_t*) latest;
  _Atomic(leat_signature_t*) short_cuts[LEAT_SIGNATURE_SHORT_CUTS];  // by low bits of the hash
} leat_signature_cache_t;

void leat_signature_cache_initialize(leat_allocator_t* allocator,
                                     leat_signature_cache_t* out_cache);
// Frees the signatures. Called when nobody uses one any more.
void leat_signature_cache_deinitialize(leat_signature_cache_t* cache);

// The signature of |run| if a step has just found it: by comparing with the latest, and with the
// one to which the hash leads. Takes no lock and writes to nothing. NULL says nothing.
leat_signature_t* leat_signature_cache_find(const leat_signature_cache_t* cache,
                                            const leat_run_t* run);

// Fills |feed_types|, |echoes| and |plans| of |signature|. Called without a lock.
typedef leat_status_t (*leat_signature_compile_fn_t)(void* data, const leat_run_t* run,
                                                     leat_signature_t* signature);
// The signature of |run|, compiled by |compile| if it is not yet. While one thread compiles it,
// others that want the same one wait for that thread, and get its failure if it fails; those that
// want another signature do not. A failure is forgotten: the next call compiles anew.
// DEADLINE_EXCEEDED when |deadline_ns| passes while this thread waits for another one.
LEAT_MUST_USE leat_status_t leat_signature_cache_make(leat_signature_cache_t* cache,
                                                      const leat_run_t* run, int64_t deadline_ns,
                                                      leat_signature_compile_fn_t compile,
                                                      void* data,
                                                      leat_signature_t** out_signature);

#endif  // LEAT_SESSION_SIGNATURE_CACHE_H_
