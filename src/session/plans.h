// The plans of one signature: what the master made of it, for feeds of any shapes and for feeds of
// the shapes that came first.
//
// Clients leave sizes open that are the same in every step, the batch above all. A graph whose
// sizes are not known keeps the nodes that compute sizes, and the optimizer can do little to its
// arrays. So a signature with an open feed is specialized: the first step with feeds of some shapes
// compiles a plan for these shapes, which later steps with the same shapes run again. There are
// LEAT_SPECIALIZATIONS of these plans at most, since a feed of many lengths would otherwise make
// every step compile; steps with further shapes share the general plan. Steps with feeds of equal
// shapes thus always run the same plan of a session, and their results have equal bits.
//
//   feeds ──▶ all shapes known when built ───────────────────────▶ the general plan
//        └──▶ open ──▶ one of the shapes that came first ────────▶ the plan for these shapes
//                 └──▶ others ──▶ there is room for a plan ──────▶ compile one for them
//                             └──▶ there is none ────────────────▶ the general plan
//
// A shape that the graph does not accept (a contradiction that only some branch would meet, say) is
// no error here: the step runs the general plan, which knows whether it comes to that.
#ifndef LEAT_SESSION_PLANS_H_
#define LEAT_SESSION_PLANS_H_

#include "base/sync.h"
#include "master/master.h"

#define LEAT_SPECIALIZATIONS 4

typedef struct leat_specialization_s {
  int64_t* sizes;             // of each open feed, in order, its rank and then its dimensions
  leat_compiled_t* compiled;  // NULL: feeds of these shapes take the general plan
} leat_specialization_t;

typedef struct leat_plans_s {
  leat_allocator_t* allocator;
  leat_rewrite_t source;  // the pruned graph, from which more plans are made; none: no open feed
  int* open_feeds;        // places of the feeds whose shapes are open, |open_count| of them
  int open_count;
  int feed_count;
  // Plans are published and never change or vanish before the signature does, so that a step finds
  // its plan without a lock.
  _Atomic(leat_compiled_t*) general;  // NULL: not compiled yet
  _Atomic(int) count;                 // of |items|
  leat_specialization_t items[LEAT_SPECIALIZATIONS];
  leat_mutex_t mutex;
  leat_condition_t changed;
  bool is_compiling;  // under |mutex|: one thread makes a plan, the others wait for it
} leat_plans_t;

// Makes the first plan of a signature from its pruned graph |rewrite|, which is taken over, also on
// failure: for feeds of the shapes of |feeds| [feed_count] where |specializes| and some are open,
// the general plan otherwise, or where |feeds| is NULL. |out_plans| is zeroed memory and can be
// deinitialized after a failure too.
LEAT_MUST_USE leat_status_t leat_plans_initialize(const leat_master_options_t* options,
                                                  leat_rewrite_t* rewrite, int feed_count,
                                                  const leat_tensor_t* feeds, bool specializes,
                                                  leat_plans_t* out_plans);
// Waits for steps that run. A zeroed |plans| is allowed.
void leat_plans_deinitialize(leat_plans_t* plans);

// The plan for feeds of any shapes; NULL: it has not been needed yet.
static inline leat_compiled_t* leat_plans_general(const leat_plans_t* plans) {
  return atomic_load_explicit(&plans->general, memory_order_acquire);
}
// The plan for feeds of the shapes of |feeds|; NULL: there is none yet. Takes no lock.
leat_compiled_t* leat_plans_find_open(const leat_plans_t* plans, const leat_tensor_t* feeds);
static inline leat_compiled_t* leat_plans_find(const leat_plans_t* plans,
                                               const leat_tensor_t* feeds) {
  if (LEAT_UNLIKELY(plans->open_count)) return leat_plans_find_open(plans, feeds);
  return leat_plans_general(plans);
}
// As leat_plans_find, but makes the plan if there is none. While one thread makes a plan, others
// that need another one wait; DEADLINE_EXCEEDED when |deadline_ns| passes meanwhile.
LEAT_MUST_USE leat_status_t leat_plans_make(leat_plans_t* plans,
                                            const leat_master_options_t* options,
                                            const leat_tensor_t* feeds, int64_t deadline_ns,
                                            leat_compiled_t** out_compiled);
// Whether feeds of these shapes have a plan of their own.
bool leat_plans_is_specialized(const leat_plans_t* plans, const leat_tensor_t* feeds);

#endif  // LEAT_SESSION_PLANS_H_
