// The interface of leat_module_grpc.so: remote procedure calls over the gRPC C core, as plain C
// functions, so that our library links none of it. cluster/rpc.c loads the module, makes statuses
// of its codes and texts, and is its only caller; cluster/rpc.h says what each function promises,
// and here stands only what differs. The module in turn reaches the library through the functions
// that it is handed, leat_rpc_host_t: it has no other way to memory, threads and the log.
//
// Objects that cluster/rpc.h leaves opaque (servers, channels, calls) are the module's own.
#ifndef LEAT_CLUSTER_RPC_MODULE_H_
#define LEAT_CLUSTER_RPC_MODULE_H_

#include "base/sync.h"
#include "cluster/rpc.h"

// What the library gives to the module. All functions may be called from any thread.
typedef struct leat_rpc_host_s {
  void* (*allocate)(size_t size_bytes);  // zeroed; NULL without memory
  void (*free)(void* pointer);           // NULL is allowed
  int64_t (*now_ns)(void);               // leat_clock_now_ns
  // Starts a thread that nobody joins; false where the system has no more.
  bool (*start_thread)(const char* name, void (*fn)(void* data), void* data);
  void (*mutex_initialize)(leat_mutex_t* out_mutex);
  void (*mutex_deinitialize)(leat_mutex_t* mutex);
  void (*condition_initialize)(leat_condition_t* out_condition);
  void (*condition_deinitialize)(leat_condition_t* condition);
  bool (*condition_wait_until)(leat_condition_t* condition, leat_mutex_t* mutex,
                               int64_t deadline_ns);
  void (*condition_notify_one)(leat_condition_t* condition);
  void (*condition_notify_all)(leat_condition_t* condition);
  void (*log)(bool is_error, const char* text);
  // Makes a status of |code| and |message|, and calls |done| with it.
  void (*finish)(leat_rpc_done_fn_t done, void* data, int code, leat_string_view_t message,
                 leat_string_view_t details, leat_rpc_bytes_t answer);
} leat_rpc_host_t;

// leat_rpc_security_t with texts that end in a NUL; NULL where there is none. Without a root and a
// chain: plain text.
typedef struct leat_rpc_credentials_s {
  const char* root_certificates;
  const char* certificate_chain;
  const char* private_key;
  bool requires_client_certificate;
} leat_rpc_credentials_t;

typedef struct leat_rpc_server_settings_s {
  const char* address;
  leat_rpc_credentials_t credentials;
  int64_t max_message_bytes;
  leat_rpc_handler_fn_t handler;
  void* data;
  bool (*streams)(leat_string_view_t method);
} leat_rpc_server_settings_t;

// Functions that return int return one of leat_status_code_t.
typedef struct leat_rpc_module_s {
  size_t struct_size;   // of the module's struct: a field past it is absent
  const char* version;  // of what it was made for, for people
  // Must be called before all others, once or more often with the same |host|, which is kept.
  void (*initialize)(const leat_rpc_host_t* host);
  // UNAVAILABLE where the address cannot be had, INVALID_ARGUMENT where the certificates cannot be
  // read, RESOURCE_EXHAUSTED without memory or threads.
  int (*server_start)(const leat_rpc_server_settings_t* settings, int* out_port,
                      leat_rpc_server_t** out_server);
  void (*server_stop)(leat_rpc_server_t* server);
  // Where |code| is not LEAT_OK, nothing of |bytes| is sent.
  void (*answer)(leat_rpc_request_t* request, int code, leat_string_view_t message,
                 leat_string_view_t details, leat_rpc_bytes_t bytes);
  void (*request_on_cancel)(leat_rpc_request_t* request, void (*fn)(void* data), void* data);
  // INVALID_ARGUMENT where the address is none. Certificates that cannot be read make calls fail.
  int (*channel_create)(const char* address, const leat_rpc_credentials_t* credentials,
                        leat_rpc_channel_t** out_channel);
  void (*channel_free)(leat_rpc_channel_t* channel);
  void (*call)(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
               leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call);
  void (*cancel)(leat_rpc_call_t* call);
  void (*call_free)(leat_rpc_call_t* call);
  bool (*channel_is_busy)(leat_rpc_channel_t* channel);
  void (*channel_fail)(leat_rpc_channel_t* channel, int code, const char* message);
  // |host| has no port and no brackets; NULL: there is none. INVALID_ARGUMENT with the fault.
  int (*check_credentials)(const leat_rpc_credentials_t* credentials, const char* host,
                           leat_rpc_text_t* out_which, char* message, size_t message_size);
} leat_rpc_module_t;

// Has the calls of this process made by |module| and not by gRPC, from now on and for good: for a
// test that simulates the network. Before the first server and channel.
void leat_rpc_use_module(const leat_rpc_module_t* module);

// The module's only exported symbol, `leat_module_grpc`, has this type.
const leat_rpc_module_t* leat_module_grpc(void);

#endif  // LEAT_CLUSTER_RPC_MODULE_H_
