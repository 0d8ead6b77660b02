/* Ctrl-C ends a step that the main thread runs. CPython's own handler of the signal only notes it,
 * and Python's handler runs when the main thread is back in the interpreter, which a step may keep
 * it from for ever. So a handler of ours comes before CPython's, calls it, and wakes a thread, the
 * watcher, which ends the step (leat/interrupt.h). The step fails with CANCELLED, and session.c
 * lets Python raise KeyboardInterrupt instead.
 *
 * A program may have another handler of Python for the signal, one that sets a flag, say, and
 * raises nothing. Then no step is ended: the watcher asks whether the handler is Python's default
 * one.
 *
 * CPython puts its own handler back at each signal.signal(). A step that takes long therefore gets
 * ours again: the watcher is woken by the first step after it fell asleep, and looks 50 ms later.
 * Steps that are short wake it 20 times a second at most. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "leat/interrupt.h"
#include "module.h"

static struct {
  leat_interrupt_t* interrupt; /* NULL before the first step */
  leat_interrupt_t* of_parent; /* that was left at the last fork */
  pthread_t main_thread;
  int is_main_known, is_fork_watched, is_started;
  sem_t wake;
  atomic_int is_asleep;
  atomic_ullong step;       /* number of the outermost step under way, 0: none */
  atomic_ullong signalled;  /* number of the step during which the signal came */
  atomic_int is_cancelling; /* the watcher ends a step; the next one may not begin meanwhile */
  unsigned long long steps; /* begun so far, on the main thread */
  struct sigaction before;  /* CPython's handler */
} watch;

/* ---- The signal ------------------------------------------------------------------------------*/
static void on_signal(int number, siginfo_t* info, void* context) {
  if (watch.before.sa_flags & SA_SIGINFO) watch.before.sa_sigaction(number, info, context);
  else watch.before.sa_handler(number);
  atomic_store(&watch.signalled, atomic_load(&watch.step));
  sem_post(&watch.wake);
}

/* Puts our handler before the one that is there, unless the signal is ignored or ends the process.
 * The caller has the GIL, so that no signal.signal() comes between. */
static void take_signal(void) {
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action)) return;
  const int has_info = action.sa_flags & SA_SIGINFO;
  if (has_info && action.sa_sigaction == on_signal) return;
  if (!has_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) return;
  watch.before = action;
  action.sa_flags |= SA_SIGINFO;
  action.sa_sigaction = on_signal;
  sigaction(SIGINT, &action, NULL);
}

/* Whether Python will raise KeyboardInterrupt. Needs the GIL. */
static int is_default_handler(void) {
  PyObject* module = PyImport_ImportModule("signal");
  PyObject* wanted = module ? PyObject_GetAttrString(module, "default_int_handler") : NULL;
  PyObject* found = module ? PyObject_CallMethod(module, "getsignal", "i", SIGINT) : NULL;
  const int is_default = wanted && wanted == found;
  Py_XDECREF(module);
  Py_XDECREF(wanted);
  Py_XDECREF(found);
  PyErr_Clear();
  return is_default;
}

/* ---- The watcher -----------------------------------------------------------------------------*/
/* Ends |step|, which the main thread has not ended yet, where a signal came during it. When this
 * |is_second| the step waits for functions of Python, which are given up. It cannot be known whose
 * step a function is in, hence those of other threads' steps are, too. */
static void end_if_signalled(unsigned long long step, int is_second) {
  PyGILState_STATE state;
  if (atomic_load(&watch.signalled) != step || !leat_py_enter(&state)) return;
  /* The main thread needs the GIL to end the step, so that it sees is_cancelling afterwards. */
  const int ends = is_default_handler() && atomic_load(&watch.step) == step;
  atomic_store(&watch.is_cancelling, ends);
  PyGILState_Release(state);
  if (ends) leat_interrupt_cancel(watch.interrupt);
  if (ends && is_second) leat_py_functions_give_up();
  atomic_store(&watch.is_cancelling, 0);
}

static void take_signal_again(unsigned long long step) {
  PyGILState_STATE state;
  if (atomic_load(&watch.step) != step || !leat_py_enter(&state)) return;
  if (atomic_load(&watch.step) == step) take_signal();
  PyGILState_Release(state);
}

static void* watch_steps(void* unused) {
  (void)unused;
  for (;;) {
    atomic_store(&watch.is_asleep, 1);
    while (sem_wait(&watch.wake)) {}
    atomic_store(&watch.is_asleep, 0);
    const unsigned long long step = atomic_load(&watch.step);
    if (!step) continue;
    end_if_signalled(step, 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    end_if_signalled(step, 1);
    take_signal_again(step);
  }
  return NULL;
}

/* The child of a fork has the thread that forked, as its main thread, and no watcher. The interrupt
 * may be locked for ever, by a thread that the child does not have. */
static void begin_anew(void) {
  watch.is_started = 0;
  watch.of_parent = watch.interrupt;
  watch.interrupt = NULL;
  watch.main_thread = pthread_self();
  watch.is_main_known = 1;
  atomic_store(&watch.step, 0);
  atomic_store(&watch.is_cancelling, 0);
}

/* Starts the watcher, with all signals blocked. Where that fails, steps are not ended. */
static void start(void) {
  watch.is_started = 1;
  if (!watch.interrupt) watch.interrupt = leat_interrupt_create();
  if (!watch.is_fork_watched) pthread_atfork(NULL, NULL, begin_anew);
  watch.is_fork_watched = 1;
  sem_init(&watch.wake, 0, 0);
  atomic_store(&watch.is_asleep, 0);
  take_signal();
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread;
  if (!pthread_create(&thread, NULL, watch_steps, NULL)) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- Steps -----------------------------------------------------------------------------------*/
/* Asks Python which thread is the main one; where it cannot say, none is. */
static void find_main_thread(void) {
  watch.is_main_known = 1;
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
  PyObject* number = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
  if (number) watch.main_thread = (pthread_t)PyLong_AsUnsignedLong(number);
  Py_XDECREF(threading);
  Py_XDECREF(thread);
  Py_XDECREF(number);
  PyErr_Clear();
}

unsigned long long leat_py_interrupt_begin(void) {
  if (!watch.is_main_known) find_main_thread();
  if (!pthread_equal(pthread_self(), watch.main_thread)) return 0;
  if (!watch.is_started) start();
  leat_interrupt_begin(watch.interrupt);
  watch.steps += 1;
  if (!atomic_load_explicit(&watch.step, memory_order_relaxed)) {
    atomic_store(&watch.step, watch.steps);
    if (atomic_load(&watch.is_asleep)) sem_post(&watch.wake);
  }
  return watch.steps;
}

static void wait_for_watcher(void) {
  Py_BEGIN_ALLOW_THREADS
  while (atomic_load(&watch.is_cancelling)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  Py_END_ALLOW_THREADS
}

void leat_py_interrupt_end(unsigned long long step) {
  if (!step) return;
  if (atomic_load(&watch.is_cancelling)) wait_for_watcher();
  if (atomic_load_explicit(&watch.step, memory_order_relaxed) == step) {
    atomic_store_explicit(&watch.step, 0, memory_order_release);
  }
  leat_interrupt_end(watch.interrupt);
}
