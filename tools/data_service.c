// The subcommand leat data-service: a dispatcher or a worker of a data service, which runs until it
// is told to end by a signal. All that it does is in the library (leat/data_service.h). Options
// become the struct that starts it, and events become lines, as those of `leat server` do: of text,
// or of JSON for machines. Whoever reaches a worker may have it run graphs, so a process that other
// machines can reach is refused without certificates, unless --allow-insecure asks for it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "command.h"
#include "json.h"
#include "leat/data_service.h"
#include "server_log.h"

#define MOST_TEXTS 1024  // of an option that is a list

enum {
  DISPATCHER_OPTION, WORKER_OPTION, DISPATCHER_ADDRESS_OPTION, HOST_OPTION, PORT_OPTION,
  WORK_DIR_OPTION, WORKERS_OPTION, TAGS_OPTION, HEARTBEAT_OPTION, GC_INTERVAL_OPTION,
  GC_TIMEOUT_OPTION, CLIENT_TIMEOUT_OPTION, FAULT_TOLERANT_OPTION, INSECURE_OPTION, JSON_OPTION,
  SECURITY_OPTIONS
};

typedef struct service_arguments_s {
  leat_data_service_options_t options;
  bool is_dispatcher, is_worker, allows_insecure;
  const char *workers[MOST_TEXTS], *tags[MOST_TEXTS];
} service_arguments_t;

// What the lines say of the process; |as_json| for machines.
typedef struct service_log_s {
  const char* role;
  bool as_json;
} service_log_t;

static void print_text(FILE* out, const char* before, const char* text) {
  if (!text || !*text) return;
  fputs(before, out);
  for (; *text; ++text) fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void print_member(FILE* out, const char* name, const char* text) {
  if (!text || !*text) return;
  fprintf(out, ", \"%s\": ", name);
  json_print_string(out, text, strlen(text));
}

static void print_event(const service_log_t* log, FILE* out,
                        const leat_data_service_event_t* event) {
  if (log->as_json) {
    fprintf(out, "{\"event\": \"%s\", \"role\": \"%s\"", event->name, log->role);
    print_member(out, "address", event->address);
    print_member(out, "message", event->message);
    if (event->id) fprintf(out, ", \"id\": %lld", (long long)event->id);
    fputs("}\n", out);
    return;
  }
  fprintf(out, "%s: %s", event->name, log->role);
  print_text(out, " at ", event->address);
  if (event->id) fprintf(out, " id %lld", (long long)event->id);
  print_text(out, ": ", event->message);
  fputs("\n", out);
}

static void print_line(void* data, const leat_data_service_event_t* event) {
  char* line = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&line, &size);
  if (!out) return;
  print_event(data, out, event);
  if (!fclose(out)) server_log_write(line, size);
  free(line);
}

static void say(service_log_t* log, const char* event, const char* address) {
  const leat_data_service_event_t said = {.name = event, .address = address, .message = ""};
  print_line(log, &said);
}

// Cuts a list "a,b,c" apart, in place.
static int cut_list(char* text, const char** out_texts) {
  int count = 0;
  for (char* next; text && count < MOST_TEXTS; text = next) {
    next = strchr(text, ',');
    if (next) *next++ = 0;
    out_texts[count++] = text;
  }
  return count;
}

static bool read_number(const char* text, int64_t most, int64_t* out_number) {
  char* end;
  errno = 0;
  *out_number = strtoll(text, &end, 10);
  return end != text && !*end && !errno && *out_number >= 0 && *out_number <= most;
}

static int read_option(int kind, char* value, service_arguments_t* a) {
  leat_data_service_options_t* o = &a->options;
  int64_t port = 0;
  int64_t* const numbers[SECURITY_OPTIONS] = {
      [PORT_OPTION] = &port,
      [HEARTBEAT_OPTION] = &o->heartbeat_interval_ms,
      [GC_INTERVAL_OPTION] = &o->job_gc_check_interval_ms,
      [GC_TIMEOUT_OPTION] = &o->job_gc_timeout_ms,
      [CLIENT_TIMEOUT_OPTION] = &o->client_timeout_ms};
  if (kind == DISPATCHER_OPTION) a->is_dispatcher = true;
  if (kind == WORKER_OPTION) a->is_worker = true;
  if (kind == DISPATCHER_ADDRESS_OPTION) o->dispatcher_address = value;
  if (kind == HOST_OPTION) o->host = value;
  if (kind == WORK_DIR_OPTION) o->work_dir = value;
  if (kind == FAULT_TOLERANT_OPTION) o->is_fault_tolerant = true;
  if (kind == WORKERS_OPTION) o->worker_address_count = cut_list(value, a->workers);
  if (kind == TAGS_OPTION) o->worker_tag_count = cut_list(value, a->tags);
  if (kind == INSECURE_OPTION) a->allows_insecure = true;
  if (kind < SECURITY_OPTIONS && numbers[kind] &&
      !read_number(value, kind == PORT_OPTION ? 65535 : INT32_MAX, numbers[kind])) {
    return complain_usage("data-service", "'%s' is no number that fits", value);
  }
  if (kind == PORT_OPTION) o->port = (int)port;
  return EXIT_OK;
}

static int check_role(const service_arguments_t* a) {
  if (a->is_dispatcher == a->is_worker) {
    return complain_usage("data-service", "one of --dispatcher and --worker is wanted");
  }
  if (a->is_worker && !a->options.dispatcher_address) {
    return complain_usage("data-service", "--dispatcher_address is missing: whom to work for");
  }
  if (a->options.is_fault_tolerant && !a->options.work_dir) {
    return complain_usage("data-service", "--work-dir is missing: where --fault-tolerant writes");
  }
  if (a->is_dispatcher && a->options.dispatcher_address) {
    return complain_usage("data-service", "--dispatcher_address is for a worker");
  }
  return EXIT_OK;
}

static int read_arguments(int argc, char** argv, service_arguments_t* a, service_log_t* log) {
  static const option_t known[] = {{"dispatcher", false},
                                   {"worker", false},
                                   {"dispatcher_address", true},
                                   {"host", true},
                                   {"port", true},
                                   {"work-dir", true},
                                   {"worker-addresses", true},
                                   {"tags", true},
                                   {"heartbeat", true},
                                   {"gc-interval", true},
                                   {"gc-timeout", true},
                                   {"client-timeout", true},
                                   {"fault-tolerant", false},
                                   {"allow-insecure", false},
                                   {"json", false},
                                   CLUSTER_SECURITY_OPTIONS,
                                   {NULL, 0}};
  arguments_t arguments = {
      .command = &command_data_service, .options = known, .argc = argc, .argv = argv};
  int kind;
  while ((kind = arguments_next(&arguments)) >= ARGUMENT_OPERAND) {
    if (kind == ARGUMENT_OPERAND) {
      return complain_usage("data-service", "'%s' is not wanted", arguments.value);
    }
    if (kind == JSON_OPTION) log->as_json = true;
    if (kind >= SECURITY_OPTIONS) cluster_take_security(known[kind].name, arguments.value);
    const int code = read_option(kind, (char*)arguments.value, a);
    if (code != EXIT_OK) return code;
  }
  if (kind != ARGUMENT_END) return kind == ARGUMENT_HELP ? -1 : arguments_exit_code(kind);
  a->options.worker_addresses = a->workers;
  a->options.worker_tags = a->tags;
  log->role = a->is_worker ? "worker" : "dispatcher";
  return check_role(a);
}

static int serve(const service_arguments_t* a, service_log_t* log) {
  const char* host = a->options.host;
  if (host && !a->allows_insecure && !cluster_is_secure() && !cluster_is_loopback(host)) {
    return complain("data-service: the host is %s, must be this machine (localhost), for whoever "
                    "reaches a worker may run graphs on it: --certificate, --key and --authority "
                    "serve those alone whom the authority knows; --allow-insecure serves all",
                    host);
  }
  cluster_hold_signals();
  TF_Status* status = TF_NewStatus();
  leat_data_service_t* service = leat_data_service_start(&a->options, status);
  const int code = service ? EXIT_OK : complain_status("data-service", status);
  if (service) {
    say(log, "serving", leat_data_service_address(service));
    cluster_wait_for_end();
    leat_data_service_delete(service);
    say(log, "stopped", NULL);
  }
  TF_DeleteStatus(status);
  return code;
}

static int run(int argc, char** argv) {
  static service_arguments_t arguments;  // large, for the lists
  service_log_t log = {0};
  arguments.options = (leat_data_service_options_t){
      .struct_size = sizeof arguments.options, .observer = print_line, .observer_data = &log};
  const int code = read_arguments(argc, argv, &arguments, &log);
  if (code == EXIT_OK) return serve(&arguments, &log);
  return code < 0 ? EXIT_OK : code;
}

const command_t command_data_service = {
    "data-service", "makes the elements of datasets for other processes",
    "Examples:\n"
    "  leat data-service --dispatcher --port 5050\n"
    "  leat data-service --worker --dispatcher_address localhost:5050\n"
    "\n"
    "Usage:\n"
    "  leat data-service --dispatcher [--port P] [options]\n"
    "  leat data-service --worker --dispatcher_address HOST:PORT [--port P] [options]\n"
    "\n"
    "A dispatcher keeps the datasets that programs register, and workers make their elements.\n"
    "The protocol is that of TensorFlow's tf.data service: each of the clients, the dispatcher\n"
    "and the workers may be TensorFlow's or Leat's. SIGINT or SIGTERM ends the process.\n"
    "\n"
    "Options:\n"
    "  --host H       by which the others reach this process (localhost)\n"
    "  --port P       to listen on; 0: any free port (0)\n"
    CLUSTER_SECURITY_HELP
    "  --allow-insecure     serve other machines without certificates too\n"
    "  --json         one JSON object a line\n"
    "Of a dispatcher:\n"
    "  --work-dir DIR           keep datasets in files there, which the workers must see\n"
    "  --fault-tolerant         keep each change of its state there too, and go on with what is\n"
    "                           there\n"
    "  --worker-addresses LIST  all workers, HOST:PORT or HOST, with commas: for sharding by file\n"
    "                           or by element\n"
    "  --gc-interval MS         how often it looks for what nobody uses (600000)\n"
    "  --gc-timeout MS          when an iteration ends that nobody reads (300000)\n"
    "  --client-timeout MS      when a client that is silent is given up (300000)\n"
    "Of a worker:\n"
    "  --tags LIST              texts that clients are told of, with commas\n"
    "  --heartbeat MS           how often it reports to the dispatcher (30000)\n"
    "\n"
    "Each event is one line: serving, worker_registered, worker_lost, client_lost,\n"
    "iteration_collected, registered, dispatcher_lost, stopped. A line that nobody reads is\n"
    "dropped.\n",
    run};
