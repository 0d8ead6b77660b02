// The subcommand leat server: one task of a cluster, which runs until it is told to end by a
// signal. The cluster is given on the command line, or by who started the process, who then also
// says which task it is (leat_cluster_resolve); the command line goes first. Events are printed as
// they come (server_log.h), and a status page can be asked for over HTTP.
//
//   --cluster "ps=a:2222;worker=b:2222,c:2222" --job ps --task 0
//   TF_CONFIG={"cluster": {"ps": ["a:2222"], ...}, "task": {"type": "ps", "index": 0}}
//   --cluster slurm:ps=1
//
// Each becomes a ServerDef, the message that TF_NewServer reads; it is encoded here by hand,
// since the tools see the public headers alone.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "command.h"
#include "server_log.h"
#ifdef LEAT_HAVE_BOARD
#include "board/status_page.h"
#endif

enum {
  CLUSTER_OPTION, JOB_OPTION, TASK_OPTION, CPUS_OPTION, CONFIG_OPTION, INSECURE_OPTION, JSON_OPTION,
  HEARTBEAT_OPTION, SESSION_OPTION, PARTIAL_OPTION, STATUS_PORT_OPTION, STATUS_HOST_OPTION,
  STATUS_TOKEN_OPTION, PROTOCOL_OPTION, SECURITY_OPTIONS
};

// ---- Options ------------------------------------------------------------------------------------

typedef struct server_options_s {
  const char* cluster;
  char job[128];
  int task, cpus;
  int heartbeat_ms, session_s, partial_s;  // below 0: not given; 0: never
  const char* config;  // a ConfigProto in hexadecimal digits
  int status_port;     // below 0: none
  const char *status_host, *status_token, *protocol;
  bool allows_insecure, as_json;
  cluster_place_t place;
} server_options_t;

static bool read_number(const char* text, int* out_number) {
  char* end;
  errno = 0;
  const long number = strtol(text, &end, 10);
  *out_number = (int)number;
  return end != text && !*end && !errno && number >= 0 && number <= 1 << 20;
}

// Finds the cluster, and takes from its source what the command line leaves open.
static int find_cluster(server_options_t* options) {
  const int code = cluster_place_read("server", options->cluster, &options->place);
  if (code != EXIT_OK) return code;
  if (!options->job[0]) snprintf(options->job, sizeof options->job, "%s", options->place.job);
  if (options->task < 0 && !strcmp(options->job, options->place.job)) {
    options->task = options->place.task;
  }
  if (!options->job[0]) {
    return complain_usage("server", "--job is missing: the cluster's source does not say which "
                                    "task this process is");
  }
  if (options->task < 0) options->task = 0;
  return EXIT_OK;
}

// Appends the bytes that pairs of hexadecimal digits stand for. false where there are others.
static bool append_digits(message_t* bytes, const char* digits) {
  for (; *digits; digits += 2) {
    unsigned value;
    if (strspn(digits, "0123456789abcdefABCDEF") < 2 || sscanf(digits, "%2x", &value) != 1) {
      return false;
    }
    message_append(bytes, &(unsigned char){(unsigned char)value}, 1);
  }
  return true;
}

static int read_arguments(int argc, char** argv, server_options_t* options) {
  static const option_t known[] = {{"cluster", true}, {"job", true},   {"task", true},
                                   {"cpus", true},    {"config", true}, {"allow-insecure", false},
                                   {"json", false},   {"heartbeat", true},
                                   {"session-timeout", true},
                                   {"partial-run-timeout", true},
                                   {"status-port", true},
                                   {"status-host", true},
                                   {"status-token", true},
                                   {"protocol", true},
                                   CLUSTER_SECURITY_OPTIONS, {NULL, 0}};
  int* const numbers[] = {[TASK_OPTION] = &options->task,
                          [CPUS_OPTION] = &options->cpus,
                          [HEARTBEAT_OPTION] = &options->heartbeat_ms,
                          [SESSION_OPTION] = &options->session_s,
                          [PARTIAL_OPTION] = &options->partial_s,
                          [STATUS_PORT_OPTION] = &options->status_port,
                          [SECURITY_OPTIONS + 2] = NULL};
  arguments_t arguments = {.command = &command_server, .options = known, .argc = argc,
                           .argv = argv};
  int kind;
  while ((kind = arguments_next(&arguments)) >= ARGUMENT_OPERAND) {
    const char* value = arguments.value;
    if (kind == ARGUMENT_OPERAND) return complain_usage("server", "'%s' is not wanted", value);
    if (kind == CLUSTER_OPTION) options->cluster = value;
    if (kind == JOB_OPTION) snprintf(options->job, sizeof options->job, "%s", value);
    if (kind == JSON_OPTION) options->as_json = true;
    if (kind == INSECURE_OPTION) options->allows_insecure = true;
    if (kind == STATUS_HOST_OPTION) options->status_host = value;
    if (kind == STATUS_TOKEN_OPTION) options->status_token = value;
    if (kind == PROTOCOL_OPTION) options->protocol = value;
    if (kind >= SECURITY_OPTIONS) cluster_take_security(known[kind].name, value);
    if (kind == CONFIG_OPTION && strcmp(value, "-")) options->config = value;
    int* number = kind >= 0 ? numbers[kind] : NULL;
    if (number && !read_number(value, number)) {
      return complain_usage("server", "'%s' is no number", value);
    }
  }
  if (kind != ARGUMENT_END) return kind == ARGUMENT_HELP ? -1 : arguments_exit_code(kind);
  message_t config = {0};
  const bool has_digits = !options->config || append_digits(&config, options->config);
  free(config.data);
  if (!has_digits) {
    return complain_usage("server", "--config is '%s', must be hexadecimal digits",
                          options->config);
  }
  if (options->status_port > 65535) {
    return complain_usage("server", "--status-port is %d, must be at most 65535",
                          options->status_port);
  }
  return find_cluster(options);
}

// A number of milliseconds, of which 0 stands for never: the message has another number for that.
static unsigned long long patience(int number, int unit_ms) {
  return number ? (unsigned long long)number * (unsigned)unit_ms : (unsigned long long)-1;
}

// Appends to a ConfigProto how often the other tasks are asked for a sign of life: its
// experimental.coordination_config.heartbeat_timeout_in_ms, which is two heartbeats.
static void append_heartbeat(message_t* config, int heartbeat_ms) {
  message_t coordination = {0}, experimental = {0};
  message_append_number(&coordination, 5, patience(heartbeat_ms, 2));
  message_append_message(&experimental, 23, &coordination);
  message_append_message(config, 16, &experimental);
}

// Makes the ServerDef.
static message_t make_server_def(server_options_t* options) {
  message_t def = {0}, config = {0};
  message_append_bytes(&def, 1, options->place.cluster_def->data,
                       options->place.cluster_def->length);
  message_append_bytes(&def, 2, options->job, strlen(options->job));
  message_append_number(&def, 3, (unsigned long long)options->task);
  if (options->cpus > 0) {
    message_t entry = {0};
    message_append_bytes(&entry, 1, "CPU", 3);
    message_append_number(&entry, 2, (unsigned long long)options->cpus);
    message_append_message(&config, 1, &entry);
  }
  if (options->config) append_digits(&config, options->config);
  if (options->heartbeat_ms >= 0) append_heartbeat(&config, options->heartbeat_ms);
  if (config.size) message_append_message(&def, 4, &config);
  message_append_bytes(&def, 5, options->protocol, strlen(options->protocol));
  message_t own = {0};  // LeatServerOptions
  if (options->session_s >= 0) message_append_number(&own, 1, patience(options->session_s, 1000));
  if (options->partial_s >= 0) message_append_number(&own, 2, patience(options->partial_s, 1000));
  if (own.size) message_append_message(&def, 1015, &own);
  return def;
}

// ---- Serving ------------------------------------------------------------------------------------

#ifdef LEAT_HAVE_BOARD
static char* make_metrics(void* server) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* text = leat_server_metrics(server, status);
  char* copy = text ? strndup(text->data, text->length) : NULL;
  TF_DeleteBuffer(text);
  TF_DeleteStatus(status);
  return copy;
}

// Starts the status page, if it is asked for. |*out_url| is freed by the caller.
static int start_status(const server_options_t* options, TF_Server* server,
                        board_status_page_t** out_page, char** out_url) {
  char message[512];
  if (options->status_port < 0) return EXIT_OK;
  const board_status_options_t page = {.host = options->status_host,
                                       .port = (uint16_t)options->status_port,
                                       .token = options->status_token,
                                       .metrics = make_metrics,
                                       .data = server};
  *out_page = board_status_start(&page, message, sizeof message);
  if (!*out_page) return complain("server: %s", message);
  snprintf(message, sizeof message, "http://%s:%d", options->status_host,
           board_status_port(*out_page));
  *out_url = strdup(message);
  return EXIT_OK;
}
#else
typedef struct board_status_page_s board_status_page_t;
static int start_status(const server_options_t* options, TF_Server* server,
                        board_status_page_t** out_page, char** out_url) {
  (void)server;
  (void)out_page;
  (void)out_url;
  return options->status_port < 0
             ? EXIT_OK
             : complain("server: this program was built without a status page: install "
                        "libmicrohttpd-dev and build it again");
}

static void board_status_stop(board_status_page_t* page) { (void)page; }
#endif

// Serves from the start of the server to a signal.
static int serve_until_signal(const server_options_t* options, TF_Server* server,
                              server_log_t* log, TF_Status* status) {
  board_status_page_t* page = NULL;
  char* url = NULL;
  leat_server_observe(server, server_log_print, log);
  TF_ServerStart(server, status);
  if (TF_GetCode(status) != TF_OK) return complain_status("server", status);
  const int code = start_status(options, server, &page, &url);
  if (code == EXIT_OK) {
    server_log_say(log, "serving", TF_ServerTarget(server), url);
    cluster_wait_for_end();
  }
  board_status_stop(page);
  TF_ServerStop(server, status);
  if (code == EXIT_OK) server_log_say(log, "stopped", TF_ServerTarget(server), NULL);
  free(url);
  return code;
}

static int serve(const server_options_t* options, const message_t* def) {
  cluster_hold_signals();
  server_log_t log = {options->job, options->task, options->as_json};
  TF_Status* status = TF_NewStatus();
  TF_Server* server = TF_NewServer(def->data, def->size, status);
  int code = EXIT_OK;
  if (server && !options->allows_insecure && !cluster_is_secure() &&
      !cluster_is_loopback(TF_ServerTarget(server) + strlen("grpc://"))) {
    code = complain("server: the task's address is %s, must be of this machine (localhost), for "
                    "whoever reaches it may run graphs on it: --certificate, --key and --authority "
                    "serve those alone whom the authority knows; --allow-insecure serves all",
                    TF_ServerTarget(server));
  } else if (server) {
    code = serve_until_signal(options, server, &log, status);
  } else {
    code = complain_status("server", status);
  }
  TF_DeleteServer(server);
  TF_DeleteStatus(status);
  return code;
}

static int run(int argc, char** argv) {
  server_options_t options = {
      .cluster = "", .task = -1, .heartbeat_ms = -1, .session_s = -1, .partial_s = -1,
      .protocol = "grpc", .status_port = -1, .status_host = "localhost",
      .status_token = getenv("LEAT_STATUS_TOKEN")};
  int code = read_arguments(argc, argv, &options);
  if (code == EXIT_OK) {
    message_t def = make_server_def(&options);
    code = def.failed ? complain("there is no memory") : serve(&options, &def);
    free(def.data);
  }
  cluster_place_free(&options.place);
  return code < 0 ? EXIT_OK : code;
}

const command_t command_server = {
    "server", "serves one task of a cluster",
    "Examples:\n"
    "  leat server --cluster 'ps=localhost:2222;worker=localhost:2223' --job ps --task 0\n"
    "  TF_CONFIG='{...}' leat server\n"
    "  srun -n 3 leat server --cluster slurm:ps=1 --allow-insecure\n"
    "  leat server --cluster kubernetes:ps=1,worker=2,service=leat\n"
    "\n"
    "Usage:\n"
    "  leat server [--cluster SOURCE] [--job NAME] [--task N] [options]\n"
    "\n"
    CLUSTER_SOURCE_HELP
    "A source that knows it also says which job and task this is.\n"
    "\n"
    "SIGINT or SIGTERM ends the server. With certificates calls are encrypted, and nobody is\n"
    "served who has none of the cluster's authority. Without them whoever reaches the port may\n"
    "run graphs on it, so a task whose address is not of this machine alone is refused without\n"
    "--allow-insecure.\n"
    "\n"
    "Options:\n"
    "  --cpus N       how many CPU devices the task has (1)\n"
    "  --protocol P   grpc, or grpc+ucx: values and calls of steps between tasks that both\n"
    "                 have it go by UCX, through RDMA or TCP, not encrypted (grpc)\n"
    CLUSTER_SECURITY_HELP
    "  --allow-insecure     serve other machines without certificates too\n"
    "  --config HEX   the options of its sessions, a ConfigProto in hexadecimal digits; -: none\n"
    "  --heartbeat MS           how often a task that is being waited for is asked for a sign of\n"
    "                           life (5000; 0: never); silence for two ends the steps that wait\n"
    "  --session-timeout S      when a session that nobody uses is closed (86400; 0: never)\n"
    "  --partial-run-timeout S  when a partial run that nobody goes on with is ended (3600;\n"
    "                           0: never)\n"
    "  --status-port P   answer /healthz and /metrics (Prometheus) by HTTP; 0: any free port\n"
    "  --status-host A   the address for that (localhost); others need a token\n"
    "  --status-token T  who asks must send 'Authorization: Bearer T' (LEAT_STATUS_TOKEN)\n"
    "  --json         one JSON object a line\n"
    "\n"
    "Each event is one line: serving, session_created, session_closed, session_refused,\n"
    "worker_session_created, worker_session_deleted, graph_registered, worker_lost,\n"
    "worker_regained, call_refused, stopped. A line that nobody reads is dropped.\n",
    run};
