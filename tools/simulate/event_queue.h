// The engine of a discrete-event simulation: a clock, delays, and resources that jobs share.
//
// A resource is a processor or one direction of a network interface. Its jobs proceed at the same
// time: all at full speed while their widths fit into its capacity, and else all slowed down alike.
// For a network interface that is fair sharing among transfers, and for a processor what an
// operating system does with threads. A job ends when it has had its work; both that and a delay
// give back the event with which they were started. Events come in the order of their times, and in
// that in which they were started where times are equal, so a simulation is the same each time.
#ifndef LEAT_TOOLS_SIMULATE_EVENT_QUEUE_H_
#define LEAT_TOOLS_SIMULATE_EVENT_QUEUE_H_

#include <stdbool.h>

typedef struct event_s {
  int worker, server;
  short phase, kind;  // the caller's
} event_t;

typedef struct event_queue_s event_queue_t;

// An engine with |resources| resources of capacity 1. NULL without memory.
event_queue_t* event_queue_create(int resources);
void event_queue_free(event_queue_t* queue);  // NULL is allowed
void event_queue_set_capacity(event_queue_t* queue, int resource, double capacity);
// Starts a job of |width|, which the resource alone would do in |seconds| > 0.
void event_queue_work(event_queue_t* queue, int resource, double seconds, double width,
                      event_t event);
// Gives |event| in |seconds| >= 0.
void event_queue_delay(event_queue_t* queue, double seconds, event_t event);
// Takes the next event. false where there is none, or no memory was left.
bool event_queue_next(event_queue_t* queue, event_t* out_event);
double event_queue_now(const event_queue_t* queue);
// How many seconds of its capacity a resource has given until now.
double event_queue_given(event_queue_t* queue, int resource);

#endif  // LEAT_TOOLS_SIMULATE_EVENT_QUEUE_H_
