//! What programs of Rust do with TensorFlow through the crate `tensorflow`: a graph with a name that
//! no GraphDef may have, a session that feeds and fetches, eager ops, and errors as statuses.
use tensorflow::{Code, DataType, Graph, Session, SessionOptions, SessionRunArgs, Tensor};

fn constant(graph: &mut Graph, name: &str, value: f32) -> tensorflow::Operation {
    let mut node = graph.new_operation("Const", name).unwrap();
    node.set_attr_type("dtype", DataType::Float).unwrap();
    node.set_attr_tensor("value", Tensor::<f32>::from(value)).unwrap();
    node.finish().unwrap()
}

fn sums_are_run() {
    let mut graph = Graph::new();
    let x = {
        let mut node = graph.new_operation("Placeholder", "x").unwrap();
        node.set_attr_type("dtype", DataType::Float).unwrap();
        node.finish().unwrap()
    };
    let two = constant(&mut graph, "two", 2.0);
    let product = {
        let mut node = graph.new_operation("Mul", "product").unwrap();
        node.add_input(x.clone());
        node.add_input(two);
        node.finish().unwrap()
    };
    let session = Session::new(&SessionOptions::new(), &graph).unwrap();
    let value = Tensor::<f32>::new(&[3]).with_values(&[1.0, 2.0, 3.0]).unwrap();
    let mut step = SessionRunArgs::new();
    step.add_feed(&x, 0, &value);
    let fetch = step.request_fetch(&product, 0);
    session.run(&mut step).unwrap();
    let result: Tensor<f32> = step.fetch(fetch).unwrap();
    assert_eq!(&result[..], &[2.0, 4.0, 6.0]);
}

fn any_name_is_taken() {
    let mut graph = Graph::new();
    let node = constant(&mut graph, "const/0/[1 2 3 4]", 1.0);
    assert_eq!(node.name().unwrap(), "const/0/[1 2 3 4]");
    assert!(graph.graph_def().unwrap().len() > 20);
    let session = Session::new(&SessionOptions::new(), &graph).unwrap();
    let mut step = SessionRunArgs::new();
    step.request_fetch(&node, 0);
    assert_eq!(session.run(&mut step).unwrap_err().code(), Code::InvalidArgument);
}

fn unknown_ops_are_told() {
    let mut graph = Graph::new();
    let status = graph.new_operation("NoSuchOp", "node").unwrap().finish().unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

fn eager_ops_run() {
    use tensorflow::eager::{self, raw_ops};
    let context = eager::Context::new(eager::ContextOptions::new()).unwrap();
    let a = Tensor::<f32>::new(&[2, 2]).with_values(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    let handle = a.into_handle(&context).unwrap();
    let product = raw_ops::mat_mul(&context, &handle, &handle).unwrap();
    let result = product.resolve::<f32>().unwrap();
    assert_eq!(&result[..], &[7.0, 10.0, 15.0, 22.0]);
}

fn main() {
    sums_are_run();
    any_name_is_taken();
    unknown_ops_are_told();
    eager_ops_run();
    println!("{}", tensorflow::version().unwrap());
}
