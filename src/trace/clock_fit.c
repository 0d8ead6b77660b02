// The line is fitted by least squares. An exchange that took longer than the shortest one was held
// up on one of its ways, by up to so much more, and counts less for it. A drift is believed only
// where the line leaves less than half of what an offset alone leaves; else it would be made of
// the exchanges' noise, and be wrong by more than it mends.
#include "trace/clock_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/checked.h"

#define LEAST_SPREAD_NS INT64_C(1000000000)

static int64_t length_of(const leat_clock_exchange_t* e) { return e->received_ns - e->sent_ns; }

static const leat_clock_exchange_t* quickest(const leat_clock_exchange_t* exchanges,
                                             size_t count) {
  const leat_clock_exchange_t* found = exchanges;
  for (size_t i = 1; i < count; ++i) {
    if (length_of(&exchanges[i]) < length_of(found)) found = &exchanges[i];
  }
  return found;
}

// By how much the other clock was ahead.
static int64_t offset_of(const leat_clock_exchange_t* e) {
  return e->read_ns - (e->sent_ns + length_of(e) / 2);
}

// Weighted sums over the batches' quickest exchanges, of their times and offsets, which are counted
// from the first one so that doubles have digits enough.
typedef struct sums_s {
  double weight, t, o, tt, to;
} sums_t;

typedef struct fit_s {
  const leat_clock_exchange_t* exchanges;
  size_t count, batch;
  int64_t begin_ns, base_ns, shortest_ns;
} fit_t;

static const leat_clock_exchange_t* batch_at(const fit_t* fit, size_t first) {
  return quickest(fit->exchanges + first, LEAT_MIN(fit->batch, fit->count - first));
}

static double weight_of(const fit_t* fit, const leat_clock_exchange_t* e) {
  const double excess = (double)(length_of(e) - fit->shortest_ns) +
                        (double)LEAT_MAX(fit->shortest_ns, 1000) / 8;
  return 1 / (excess * excess);
}

// The weighted mean of the squares of what the relation leaves.
static double remainder_of(const fit_t* fit, const sums_t* s, double offset, double drift) {
  double sum = 0;
  for (size_t i = 0; i < fit->count; i += fit->batch) {
    const leat_clock_exchange_t* e = batch_at(fit, i);
    const double left = (double)(offset_of(e) - fit->base_ns) - offset -
                        drift * (double)(e->read_ns - fit->begin_ns);
    sum += weight_of(fit, e) * left * left;
  }
  return sum / s->weight;
}

leat_clock_relation_t leat_clock_fit(const leat_clock_exchange_t* exchanges, size_t count,
                                     size_t batch) {
  leat_clock_relation_t relation = {0};
  sums_t s = {0};
  if (count == 0) return relation;
  LEAT_DCHECK(batch > 0);
  const leat_clock_exchange_t *first = quickest(exchanges, LEAT_MIN(batch, count)), *last = first;
  const fit_t fit = {exchanges, count, batch, first->read_ns, offset_of(first),
                     length_of(quickest(exchanges, count))};
  for (size_t i = 0; i < count; i += batch) {
    const leat_clock_exchange_t* e = last = batch_at(&fit, i);
    const double w = weight_of(&fit, e), t = (double)(e->read_ns - fit.begin_ns),
                 o = (double)(offset_of(e) - fit.base_ns);
    s = (sums_t){s.weight + w, s.t + w * t, s.o + w * o, s.tt + w * t * t, s.to + w * t * o};
  }
  double offset = s.o / s.weight;
  const double spread = s.weight * s.tt - s.t * s.t;
  if (last->read_ns - fit.begin_ns >= LEAST_SPREAD_NS && spread > 0) {
    const double drift = (s.weight * s.to - s.t * s.o) / spread;
    const double with_drift = (s.o - drift * s.t) / s.weight;
    if (remainder_of(&fit, &s, with_drift, drift) < remainder_of(&fit, &s, offset, 0) / 4) {
      relation.drift = drift;
      offset = with_drift;
    }
  }
  relation.at_ns = fit.begin_ns;
  relation.offset_ns = fit.base_ns + llround(offset);
  relation.residual_ns = fit.shortest_ns / 2;
  for (size_t i = 0; i < count; i += batch) {
    const leat_clock_exchange_t* e = batch_at(&fit, i);
    const int64_t ours_ns = leat_clock_relation_apply(&relation, e->read_ns);
    const int64_t off_ns = llabs(ours_ns - (e->sent_ns + length_of(e) / 2));
    relation.residual_ns = LEAT_MAX(relation.residual_ns, off_ns);
  }
  return relation;
}
