// Delays are a binary heap by time. A resource is a fluid: all its jobs are slowed down by one
// factor, so they have all had the same progress since the resource began, and a job that starts
// now with so many seconds of work ends when the progress has grown by so much. That point never
// moves, whatever other jobs come and go, so each resource keeps its jobs in a heap by it, and an
// arrival or an end costs O(log jobs) instead of a visit to each job.
//
// What moves is the time at which the progress gets there. The resources therefore stand in one
// more heap, by the time at which their next job ends, in which a resource knows its place: a job
// that comes or goes moves one entry. The invariant is that |wake| of each resource is exact for
// the jobs that it has now. tools/simulate/simulation.c is the only caller.
#include "simulate/event_queue.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct pending_s {
  double at;       // a time, or a progress
  uint64_t order;  // of those with the same |at|
  double width;    // of a job
  event_t event;
} pending_t;

typedef struct pending_heap_s {
  pending_t* items;
  int count, capacity;
} pending_heap_t;

typedef struct shared_resource_s {
  double capacity, demand;  // |demand|: the widths of the jobs
  double progress, updated; // at the time |updated|
  double given;
  double wake;              // when the next job ends; INFINITY without jobs
  int place;                // in the heap of resources
  pending_heap_t jobs;
} shared_resource_t;

struct event_queue_s {
  double now;
  uint64_t order;
  bool has_failed;
  pending_heap_t delays;
  shared_resource_t* resources;
  int* by_wake;  // a heap of the numbers of resources
  int resource_count;
};

// ---- A heap of what is pending ------------------------------------------------------------------

static bool is_before(const pending_t* a, const pending_t* b) {
  return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static bool push(pending_heap_t* heap, pending_t item) {
  if (heap->count == heap->capacity) {
    int capacity = heap->capacity ? 2 * heap->capacity : 8;
    pending_t* items = realloc(heap->items, (size_t)capacity * sizeof *items);
    if (!items) return false;
    heap->items = items;
    heap->capacity = capacity;
  }
  int at = heap->count++;
  for (; at > 0 && is_before(&item, &heap->items[(at - 1) / 2]); at = (at - 1) / 2) {
    heap->items[at] = heap->items[(at - 1) / 2];
  }
  heap->items[at] = item;
  return true;
}

static pending_t pop(pending_heap_t* heap) {
  pending_t top = heap->items[0], last = heap->items[--heap->count];
  int at = 0;
  for (int child = 1; child < heap->count; child = 2 * at + 1) {
    if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child])) ++child;
    if (!is_before(&heap->items[child], &last)) break;
    heap->items[at] = heap->items[child];
    at = child;
  }
  heap->items[at] = last;
  return top;
}

// ---- Resources ----------------------------------------------------------------------------------

// How fast each job goes: 1 is full speed.
static double speed(const shared_resource_t* r) {
  return r->demand > r->capacity ? r->capacity / r->demand : 1;
}

static void bring_up_to_date(event_queue_t* q, shared_resource_t* r) {
  double passed = q->now - r->updated;
  r->updated = q->now;
  if (r->jobs.count == 0) return;
  r->progress += passed * speed(r);
  r->given += passed * fmin(r->demand, r->capacity);
}

static bool wakes_before(const event_queue_t* q, int a, int b) {
  double x = q->resources[a].wake, y = q->resources[b].wake;
  return x < y || (x == y && a < b);
}

static void put(event_queue_t* q, int place, int resource) {
  q->by_wake[place] = resource;
  q->resources[resource].place = place;
}

// Finds out when the next job of a resource that is up to date ends, and moves the resource to its
// place in the heap.
static void reschedule(event_queue_t* q, int resource) {
  shared_resource_t* r = &q->resources[resource];
  r->wake = r->jobs.count == 0
                ? INFINITY
                : q->now + fmax(r->jobs.items[0].at - r->progress, 0) / speed(r);
  int place = r->place;
  while (place > 0 && wakes_before(q, resource, q->by_wake[(place - 1) / 2])) {
    put(q, place, q->by_wake[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (int child = 2 * place + 1; child < q->resource_count; child = 2 * place + 1) {
    if (child + 1 < q->resource_count &&
        wakes_before(q, q->by_wake[child + 1], q->by_wake[child])) {
      ++child;
    }
    if (!wakes_before(q, q->by_wake[child], resource)) break;
    put(q, place, q->by_wake[child]);
    place = child;
  }
  put(q, place, resource);
}

static event_t end_job(event_queue_t* q, int resource) {
  shared_resource_t* r = &q->resources[resource];
  bring_up_to_date(q, r);
  pending_t job = pop(&r->jobs);
  r->demand -= job.width;
  if (r->jobs.count == 0) r->demand = r->progress = 0;  // nothing is left of what was rounded
  reschedule(q, resource);
  return job.event;
}

// ---- The engine ---------------------------------------------------------------------------------

event_queue_t* event_queue_create(int resources) {
  event_queue_t* q = calloc(1, sizeof *q);
  if (!q) return NULL;
  q->resources = calloc((size_t)resources, sizeof *q->resources);
  q->by_wake = calloc((size_t)resources, sizeof *q->by_wake);
  if (!q->resources || !q->by_wake) {
    event_queue_free(q);
    return NULL;
  }
  q->resource_count = resources;
  for (int i = 0; i < resources; ++i) {
    q->resources[i] = (shared_resource_t){.capacity = 1, .wake = INFINITY};
    put(q, i, i);
  }
  return q;
}

void event_queue_free(event_queue_t* q) {
  if (!q) return;
  for (int i = 0; i < q->resource_count; ++i) free(q->resources[i].jobs.items);
  free(q->delays.items);
  free(q->resources);
  free(q->by_wake);
  free(q);
}

void event_queue_set_capacity(event_queue_t* q, int resource, double capacity) {
  q->resources[resource].capacity = capacity;
}

void event_queue_work(event_queue_t* q, int resource, double seconds, double width,
                      event_t event) {
  shared_resource_t* r = &q->resources[resource];
  bring_up_to_date(q, r);
  pending_t job = {r->progress + seconds, q->order++, fmin(width, r->capacity), event};
  q->has_failed |= !push(&r->jobs, job);
  r->demand += job.width;
  reschedule(q, resource);
}

void event_queue_delay(event_queue_t* q, double seconds, event_t event) {
  q->has_failed |= !push(&q->delays, (pending_t){q->now + seconds, q->order++, 0, event});
}

bool event_queue_next(event_queue_t* q, event_t* out_event) {
  if (q->has_failed) return false;
  double wake = q->resources[q->by_wake[0]].wake;
  if (q->delays.count > 0 && q->delays.items[0].at <= wake) {
    pending_t delay = pop(&q->delays);
    q->now = delay.at;
    *out_event = delay.event;
    return true;
  }
  if (wake == INFINITY) return false;
  q->now = wake;
  *out_event = end_job(q, q->by_wake[0]);
  return true;
}

double event_queue_now(const event_queue_t* q) { return q->now; }

double event_queue_given(event_queue_t* q, int resource) {
  bring_up_to_date(q, &q->resources[resource]);
  return q->resources[resource].given;
}
