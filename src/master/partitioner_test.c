// The partitioner cuts a placed graph into one graph for each device: which Sends and Recvs it puts
// between them, how feeds and fetches are distributed, and how transfers are numbered. Partitions
// are compared as pictures: a node's first letter is its device, and what comes out is written the
// same way:
//
//   "a1 a2(a1) b1(a2)"  ->  A: "a1 a2(a1) send(a2)"   B: "recv b1(recv)"
//
// Devices are assigned by the test and not by the placer, and nothing runs. The second half cuts by
// task instead of by device, as a master does that has workers in other processes. Partitions run
// in tests/session/devices_test.c, loops across devices included, and those of tasks in
// tests/cluster/server_test.c.
#include "master/partitioner.h"

#include <stdlib.h>
#include <string.h>

#include "master/master.h"
#include "session/scene.h"

static const leat_placement_device_t devices[] = {
    {.name = LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"), .type = LEAT_SV("CPU"),
     .incarnation = 11},
    {.name = LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:1"), .type = LEAT_SV("CPU"),
     .incarnation = 12},
    {.name = LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:2"), .type = LEAT_SV("CPU"),
     .incarnation = 13},
};

typedef struct fixture_s {
  scene_t scene;
  leat_placer_options_t options;
  leat_partitions_t partitions;
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  f = (fixture_t){0};
  scene_open(&f.scene);
  f.options = (leat_placer_options_t){
      .kernels = f.scene.runtime->kernels, .devices = devices, .device_count = 3};
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  leat_partitions_free(&f->partitions);
  scene_close(&f->scene);
  return 0;
}

// A node on the device of its first letter.
static leat_output_t node(fixture_t* f, const char* name, const char* op, leat_outputs_t inputs) {
  leat_output_t output = scene_output(&f->scene, op, name, "", inputs, LEAT_NO_ATTRS);
  f->scene.graph->nodes[output.node].assigned_device = name[0] - 'a';
  return output;
}

static leat_output_t source(fixture_t* f, const char* name) {
  leat_output_t output = scene_placeholder(&f->scene, name, LEAT_DTYPE_FLOAT);
  f->scene.graph->nodes[output.node].assigned_device = name[0] - 'a';
  return output;
}

static void cut(fixture_t* f, const leat_output_t* fetches, int fetch_count) {
  leat_graph_t* copy;
  LEAT_EXPECT_OK(leat_graph_create_child(f->scene.graph, &copy));
  for (size_t i = 0; i < f->scene.graph->node_count; ++i) {
    const leat_node_t* n = &f->scene.graph->nodes[i];
    int32_t index;
    LEAT_EXPECT_OK(leat_graph_copy_node(copy, n, n->inputs, n->input_count, n->control_count,
                                        &index));
    copy->nodes[index].assigned_device = n->assigned_device;
  }
  LEAT_EXPECT_OK(leat_partition(&copy, fetches, fetch_count, &f->options, &f->partitions));
  leat_graph_free(copy);
}

static const leat_partition_t* on_device(const fixture_t* f, int device) {
  for (int i = 0; i < f->partitions.count; ++i) {
    if (f->partitions.items[i].device == device) return &f->partitions.items[i];
  }
  fail_msg("nothing lies on device %d", device);
  return NULL;
}

// "send" and "recv" and "dummy" stand for the partitioner's own nodes.
static const char* short_name(const leat_node_t* n) {
  if (n->op->flags & LEAT_OP_SEND) return "send";
  if (n->op->flags & LEAT_OP_RECV) return "recv";
  if (n->op->flags & LEAT_OP_CONSTANT) return "dummy";
  return NULL;
}

// A node of the client is drawn by its own name, one that the cut has added by what it does.
static void draw_name(leat_string_builder_t* text, const leat_node_t* n) {
  const char* name = short_name(n);
  if (name) {
    leat_string_builder_print(text, "%s", name);
  } else {
    leat_string_builder_print(text, "%.*s", LEAT_SV_ARG(n->name));
  }
}

// The subgraph of |device| must read as |picture|: its nodes in their order, and behind each in
// parentheses what it takes, where "^" marks an edge that carries no value.
static void expect_picture(const fixture_t* f, int device, const char* picture) {
  const leat_graph_t* graph = on_device(f, device)->graph;
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* n = &graph->nodes[i];
    if (i) leat_string_builder_print(&text, " ");
    draw_name(&text, n);
    for (int k = 0; k < n->input_count + n->control_count; ++k) {
      leat_string_builder_print(&text, k ? "," : "(");
      if (n->inputs[k].index == LEAT_CONTROL_INDEX) leat_string_builder_print(&text, "^");
      draw_name(&text, &graph->nodes[n->inputs[k].node]);
    }
    if (n->input_count + n->control_count) leat_string_builder_print(&text, ")");
  }
  leat_string_view_t drawn = leat_string_builder_view(&text);
  if (!leat_string_view_equals(drawn, picture)) print_error("%.*s\n", LEAT_SV_ARG(drawn));
  assert_true(leat_string_view_equals(drawn, picture));
  leat_string_builder_deinitialize(&text);
}

static void one_device(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "b1");
  leat_output_t y = node(f, "b2", "Neg", LEAT_INPUTS(x));
  cut(f, &y, 1);
  assert_int_equal(f->partitions.count, 1);
  expect_picture(f, 1, "b1 b2(b1)");
  assert_true(leat_output_equal(f->partitions.items[0].fetches[0], y));
}

static void an_edge(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(x));
  cut(f, &y, 1);
  assert_int_equal(f->partitions.count, 2);
  expect_picture(f, 0, "a1 send(a1)");
  expect_picture(f, 1, "recv b1(recv)");
  const leat_graph_t *from = on_device(f, 0)->graph, *to = on_device(f, 1)->graph;
  leat_string_view_t key = leat_node_attr_string(&from->nodes[1], "tensor_name");
  assert_true(leat_string_view_equal(key, leat_node_attr_string(&to->nodes[0], "tensor_name")));
  assert_int_equal(leat_node_attr_int(&from->nodes[1], "send_device_incarnation", 0), 11);
  assert_int_equal(leat_node_attr_int(&to->nodes[0], "send_device_incarnation", 0), 11);
  assert_true(leat_string_view_equal(leat_node_attr_string(&to->nodes[0], "recv_device"),
                                     devices[1].name));
  assert_int_equal(leat_node_attr_type(&to->nodes[0], "tensor_type"), LEAT_DTYPE_FLOAT);
  assert_int_equal(on_device(f, 0)->fetch_count, 0);
  assert_int_equal(on_device(f, 1)->fetch_count, 1);
}

static void one_pair_for_many_readers(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(x));
  node(f, "b2", "Mul", LEAT_INPUTS(x, x));
  node(f, "c1", "AddV2", LEAT_INPUTS(y, x));
  cut(f, NULL, 0);
  expect_picture(f, 0, "a1 send(a1) send(a1)");  // one a destination
  expect_picture(f, 1, "recv b1(recv) b2(recv,recv) send(b1)");
  expect_picture(f, 2, "recv recv c1(recv,recv)");
}

static void there_and_back(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(x));
  leat_output_t z = node(f, "a2", "AddV2", LEAT_INPUTS(y, x));
  const leat_output_t fetches[] = {z, y, x, z};
  cut(f, fetches, 4);
  expect_picture(f, 0, "a1 send(a1) recv a2(recv,a1)");
  expect_picture(f, 1, "recv b1(recv) send(b1)");
  const leat_partition_t *a = on_device(f, 0), *b = on_device(f, 1);
  assert_int_equal(a->fetch_count, 3);
  assert_int_equal(a->fetch_indices[0], 0);
  assert_int_equal(a->fetch_indices[1], 2);
  assert_int_equal(a->fetch_indices[2], 3);
  assert_int_equal(b->fetch_indices[0], 1);
}

static void control_edges_send_a_dummy(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(source(f, "b0")));
  leat_output_t z = node(f, "c1", "Neg", LEAT_INPUTS(source(f, "c0")));
  scene_after(&f->scene, y.node, x.node);
  scene_after(&f->scene, z.node, x.node);
  cut(f, NULL, 0);
  expect_picture(f, 0, "a1 dummy(^a1) send(dummy) dummy(^a1) send(dummy)");
  expect_picture(f, 1, "b0 recv b1(b0,^recv)");
  expect_picture(f, 2, "c0 recv c1(c0,^recv)");
}

// A value and the order travel apart.
static void data_and_control_of_one_node(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(x));
  scene_after(&f->scene, y.node, x.node);
  cut(f, NULL, 0);
  expect_picture(f, 0, "a1 send(a1) dummy(^a1) send(dummy)");
  expect_picture(f, 1, "recv recv b1(recv,^recv)");
}

static void feeds_are_renumbered(void** state) {
  fixture_t* f = *state;
  for (int i = 0; i < 4; ++i) {
    char name[] = {"abab"[i], (char)('0' + i), 0};
    leat_output_t x = scene_output(&f->scene, "_Arg", name, "", LEAT_NO_INPUTS,
                                   LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                                              LEAT_INT("index", i)));
    f->scene.graph->nodes[x.node].assigned_device = i % 2;
  }
  cut(f, NULL, 0);
  for (int d = 0; d < 2; ++d) {
    const leat_partition_t* partition = on_device(f, d);
    assert_int_equal(partition->feed_count, 2);
    for (int k = 0; k < 2; ++k) {
      assert_int_equal(partition->feed_indices[k], 2 * k + d);
      assert_int_equal(leat_node_attr_int(&partition->graph->nodes[k], "index", -1), k);
    }
  }
}

static void many_outputs_are_told_apart(void** state) {
  enum { kParts = 70000 };
  fixture_t* f = *state;
  leat_output_t axis = leat_build_scalar(&f->scene.b, LEAT_DTYPE_INT32, 0);
  f->scene.graph->nodes[axis.node].assigned_device = 0;
  leat_output_t x = source(f, "a1");
  int32_t split = scene_node(&f->scene, "Split", "a2", "", LEAT_INPUTS(axis, x),
                             LEAT_ATTRS(LEAT_INT("num_split", kParts)));
  f->scene.graph->nodes[split].assigned_device = 0;
  node(f, "b1", "Neg", LEAT_INPUTS(leat_node_output(split, 3)));
  node(f, "b2", "Neg", LEAT_INPUTS(leat_node_output(split, 3 + 65536)));
  cut(f, NULL, 0);
  expect_picture(f, 1, "recv b1(recv) recv b2(recv)");
}

static int64_t number_of(const leat_node_t* n) {
  return leat_node_attr_int(n, LEAT_ATTR_NAME_TRANSFER, -1);
}

static bool same_text(const leat_node_t* a, const leat_node_t* b, const char* name) {
  return leat_string_view_equal(leat_node_attr_string(a, name), leat_node_attr_string(b, name));
}

// The Recv of a Send has its number, and no other one has. Returns how many pairs there are.
static int expect_pairs(const fixture_t* f, uint64_t* out_numbers) {
  int pairs = 0;
  *out_numbers = 0;
  for (int d = 0; d < 3; ++d) {
    const leat_graph_t* from = on_device(f, d)->graph;
    for (size_t i = 0; i < from->node_count; ++i) {
      const leat_node_t* send = &from->nodes[i];
      if (!(send->op->flags & LEAT_OP_SEND) || number_of(send) < 0) continue;
      *out_numbers |= UINT64_C(1) << number_of(send);
      for (int e = 0; e < 3; ++e) {
        const leat_graph_t* to = on_device(f, e)->graph;
        for (size_t k = 0; k < to->node_count; ++k) {
          const leat_node_t* recv = &to->nodes[k];
          if (!(recv->op->flags & LEAT_OP_RECV)) continue;
          bool is_pair = same_text(send, recv, "tensor_name") &&
                         same_text(send, recv, "send_device") &&
                         same_text(send, recv, "recv_device");
          assert_int_equal(is_pair, number_of(send) == number_of(recv));
          pairs += is_pair;
        }
      }
    }
  }
  return pairs;
}

// A client's own Send claims a number, which it must not keep.
static void transfers_are_numbered(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(x));
  leat_output_t z = node(f, "c1", "AddV2", LEAT_INPUTS(y, x));
  scene_after(&f->scene, node(f, "c2", "Neg", LEAT_INPUTS(z)).node, x.node);
  node(f, "a2", "Mul", LEAT_INPUTS(z, y));
  int32_t own = scene_node(&f->scene, "_Send", "a3", "", LEAT_INPUTS(x),
                           LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                                      LEAT_STR("tensor_name", "t"),
                                      LEAT_STR("send_device", "here"),
                                      LEAT_INT("send_device_incarnation", 0),
                                      LEAT_STR("recv_device", "there"),
                                      LEAT_INT(LEAT_ATTR_NAME_TRANSFER, 1)));
  f->scene.graph->nodes[own].assigned_device = 0;
  cut(f, NULL, 0);
  uint64_t numbers;
  assert_int_equal(expect_pairs(f, &numbers), 6);
  assert_int_equal(numbers, 63);
  assert_int_equal(f->partitions.transfer_count, 6);
  const leat_graph_t* on_a = on_device(f, 0)->graph;
  int found = 0;
  for (size_t i = 0; i < on_a->node_count; ++i) {
    if (!leat_string_view_equals(on_a->nodes[i].name, "a3")) continue;
    assert_int_equal(number_of(&on_a->nodes[i]), -1);
    ++found;
  }
  assert_int_equal(found, 1);
}

// ---- Tasks --------------------------------------------------------------------------------------

// A and B are devices of the master's own task, C and D of another one.
static const leat_placement_device_t task_devices[] = {
    {.name = LEAT_SV("/job:w/replica:0/task:0/device:CPU:0"), .type = LEAT_SV("CPU"),
     .incarnation = 21, .task = 0},
    {.name = LEAT_SV("/job:w/replica:0/task:0/device:CPU:1"), .type = LEAT_SV("CPU"),
     .incarnation = 22, .task = 0},
    {.name = LEAT_SV("/job:ps/replica:0/task:0/device:CPU:0"), .type = LEAT_SV("CPU"),
     .incarnation = 23, .task = 1},
    {.name = LEAT_SV("/job:ps/replica:0/task:0/device:CPU:1"), .type = LEAT_SV("CPU"),
     .incarnation = -24, .task = 1},
};

static int set_up_tasks(void** state) {
  set_up(state);
  fixture_t* f = *state;
  f->options.devices = task_devices;
  f->options.device_count = LEAT_ARRAY_SIZE(task_devices);
  return 0;
}

static leat_output_t argument(fixture_t* f, const char* name, int index) {
  leat_output_t x = scene_output(&f->scene, "_Arg", name, "", LEAT_NO_INPUTS,
                                 LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                                            LEAT_INT("index", index)));
  f->scene.graph->nodes[x.node].assigned_device = name[0] - 'a';
  return x;
}

// Cuts between tasks only, and checks what a worker relies on: each subgraph keeps the nodes of one
// task, with their full device names, and no transfer has got a number yet.
static void cut_by_task(fixture_t* f, const leat_output_t* fetches, int fetch_count) {
  LEAT_EXPECT_OK(leat_partition_by_task(f->scene.graph, fetches, fetch_count, &f->options,
                                        &f->partitions));
  assert_int_equal(f->partitions.transfer_count, 0);
  for (int i = 0; i < f->partitions.count; ++i) {
    const leat_partition_t* partition = &f->partitions.items[i];
    for (size_t k = 0; k < partition->graph->node_count; ++k) {
      const leat_node_t* n = &partition->graph->nodes[k];
      assert_true(leat_string_view_equal(n->device, task_devices[n->assigned_device].name));
      assert_int_equal(task_devices[n->assigned_device].task,
                       task_devices[partition->device].task);
      assert_int_equal(number_of(n), -1);
    }
  }
}

// Only what goes to the other task is sent, once for each of its devices; between devices of one
// task the edges stay, for its worker to cut.
static void tasks_are_cut(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(x));
  leat_output_t z = node(f, "c1", "AddV2", LEAT_INPUTS(x, y));
  node(f, "c2", "Neg", LEAT_INPUTS(y));
  leat_output_t w = node(f, "d1", "AddV2", LEAT_INPUTS(z, y));
  node(f, "b2", "Neg", LEAT_INPUTS(w));
  assert_true(leat_spans_tasks(f->scene.graph, &f->options));
  cut_by_task(f, NULL, 0);
  assert_int_equal(f->partitions.count, 2);
  expect_picture(f, 0, "a1 b1(a1) send(a1) send(b1) send(b1) recv b2(recv)");
  expect_picture(f, 2, "recv recv c1(recv,recv) c2(recv) recv d1(c1,recv) send(d1)");
}

// The keys name the devices between which a value goes, and the sender's incarnation.
static void keys_of_tasks(void** state) {
  fixture_t* f = *state;
  node(f, "b1", "Neg", LEAT_INPUTS(source(f, "d1")));
  cut_by_task(f, NULL, 0);
  const leat_graph_t *from = on_device(f, 2)->graph, *to = on_device(f, 0)->graph;
  const leat_node_t *sent = &from->nodes[1], *received = &to->nodes[0];
  assert_true(same_text(sent, received, "tensor_name"));
  for (int i = 0; i < 2; ++i) {
    const leat_node_t* n = i ? sent : received;
    assert_true(leat_string_view_equal(leat_node_attr_string(n, "send_device"),
                                       task_devices[3].name));
    assert_true(leat_string_view_equal(leat_node_attr_string(n, "recv_device"),
                                       task_devices[1].name));
    assert_int_equal(leat_node_attr_int(n, "send_device_incarnation", 0), -24);
  }
}

static void control_edges_between_tasks(void** state) {
  fixture_t* f = *state;
  leat_output_t x = source(f, "a1");
  leat_output_t y = node(f, "b1", "Neg", LEAT_INPUTS(source(f, "b0")));
  leat_output_t z = node(f, "c1", "Neg", LEAT_INPUTS(source(f, "c0")));
  scene_after(&f->scene, y.node, x.node);
  scene_after(&f->scene, z.node, x.node);
  cut_by_task(f, NULL, 0);
  expect_picture(f, 0, "a1 b0 b1(b0,^a1) dummy(^a1) send(dummy)");
  expect_picture(f, 2, "c0 recv c1(c0,^recv)");
}

// What the other task is fed, or computes for a fetch, goes by way of the master's own task.
static void feeds_and_fetches_stay_at_the_master(void** state) {
  fixture_t* f = *state;
  leat_output_t here = argument(f, "b1", 0), there = argument(f, "d1", 1);
  leat_output_t y = node(f, "d2", "AddV2", LEAT_INPUTS(there, here));
  leat_output_t z = node(f, "b2", "Neg", LEAT_INPUTS(here));
  const leat_output_t fetches[] = {y, z, y};
  cut_by_task(f, fetches, 3);
  assert_int_equal(f->partitions.count, 2);
  const leat_partition_t *own = on_device(f, 0), *other = on_device(f, 2);
  int arguments = 0;
  for (size_t i = 0; i < own->graph->node_count; ++i) {
    const leat_node_t* n = &own->graph->nodes[i];
    if (!(n->op->flags & LEAT_OP_ARGUMENT)) continue;
    assert_int_equal(leat_node_attr_int(n, "index", -1), n->name.data[0] == 'd');
    ++arguments;
  }
  assert_int_equal(arguments, 2);
  for (size_t i = 0; i < other->graph->node_count; ++i) {
    assert_false(other->graph->nodes[i].op->flags & LEAT_OP_ARGUMENT);
  }
  expect_picture(f, 2, "recv recv d2(recv,recv) send(d2)");
  assert_int_equal(other->fetch_count, 0);
  assert_int_equal(own->fetch_count, 3);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(own->fetch_indices[i], i);
    const leat_node_t* n = &own->graph->nodes[own->fetches[i].node];
    assert_int_equal((n->op->flags & LEAT_OP_RECV) != 0, i != 1);
  }
  assert_true(leat_output_equal(own->fetches[0], own->fetches[2]));
}

// A step may lie on the other task alone; the master's own has a graph as soon as it is fed.
static void a_step_of_the_other_task(void** state) {
  fixture_t* f = *state;
  node(f, "c1", "Neg", LEAT_INPUTS(source(f, "d1")));
  cut_by_task(f, NULL, 0);
  assert_int_equal(f->partitions.count, 1);
  expect_picture(f, 2, "d1 c1(d1)");
}

static void a_step_of_the_own_task(void** state) {
  fixture_t* f = *state;
  node(f, "b1", "Neg", LEAT_INPUTS(source(f, "a1")));
  assert_false(leat_spans_tasks(f->scene.graph, &f->options));
}

// A worker that only takes note of what is registered.
typedef struct clerk_s {
  leat_worker_t base;
  int graphs;
  uint32_t transfer_counts[3];
} clerk_t;

static void clerk_register(leat_worker_t* self, const leat_register_request_t* request,
                           uint64_t* out_handle, leat_worker_done_fn_t done, void* data) {
  clerk_t* clerk = (clerk_t*)self;
  assert_true(clerk->graphs < 3);
  clerk->transfer_counts[clerk->graphs] = request->transfer_count;
  *out_handle = (uint64_t)++clerk->graphs;
  leat_graph_free(request->graph);
  done(data, leat_ok_status());
}

static void clerk_deregister(leat_worker_t* self, uint64_t handle) {}

// Each graph of a step is registered with the count of the whole step; without it the worker would
// compose texts. A graph that is not cut has no transfers.
static void every_graph_has_the_count(void** state) {
  static const leat_worker_vtable_t vtable = {.register_graph = clerk_register,
                                              .deregister_graph = clerk_deregister};
  fixture_t* f = *state;
  for (int partitions = 1; partitions <= 3; partitions += 2) {
    scene_t scene;
    scene_open(&scene);
    leat_output_t x = scene_pass(&scene, 1, 0, scene_float(&scene, 1));
    leat_output_t y = scene_output(&scene, "Neg", "", devices[partitions / 2].name.data,
                                   LEAT_INPUTS(x), LEAT_NO_ATTRS);
    leat_output_t z = scene_output(&scene, "AddV2", "", devices[partitions - 1].name.data,
                                   LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
    clerk_t clerk = {.base = {&vtable}};
    leat_worker_t* worker = &clerk.base;
    leat_master_options_t options = {.allocator = leat_allocator_system(),
                                     .workers = &worker,
                                     .worker_count = 1,
                                     .placement = f->options};
    leat_step_signature_t signature = {.fetches = &z, .fetch_count = 1};
    leat_rewrite_t rewrite;
    leat_compiled_t* compiled;
    LEAT_EXPECT_OK(leat_master_prune(scene.graph, &signature, &rewrite));
    LEAT_EXPECT_OK(leat_master_compile(&options, &rewrite, 0, NULL, &compiled));
    assert_int_equal(clerk.graphs, partitions);
    for (int i = 0; i < partitions; ++i) {
      assert_int_equal(clerk.transfer_counts[i], partitions == 1 ? 0 : 3);
    }
    leat_compiled_free(compiled);
    scene_close(&scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(one_device),
      TEST(an_edge),
      TEST(one_pair_for_many_readers),
      TEST(there_and_back),
      TEST(control_edges_send_a_dummy),
      TEST(data_and_control_of_one_node),
      TEST(feeds_are_renumbered),
      TEST(many_outputs_are_told_apart),
      TEST(transfers_are_numbered),
      TEST(every_graph_has_the_count),
#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_tasks, tear_down)
      TEST(tasks_are_cut),
      TEST(keys_of_tasks),
      TEST(control_edges_between_tasks),
      TEST(feeds_and_fetches_stay_at_the_master),
      TEST(a_step_of_the_other_task),
      TEST(a_step_of_the_own_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
