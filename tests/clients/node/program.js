// What programs of Node.js do with TensorFlow through tfjs-node, whose binding uses the eager API:
// products, training with summaries, files of images, Fourier transforms, patterns, Einsum.
const assert = require('assert');
const fs = require('fs');
const os = require('os');
const path = require('path');
const tf = require('@tensorflow/tfjs-node');

function near(values, wanted, tolerance = 1e-5) {
  assert.strictEqual(values.length, wanted.length);
  values.forEach((v, i) => assert.ok(Math.abs(v - wanted[i]) <= tolerance, `${v}, ${wanted[i]}`));
}

async function main() {
  assert.strictEqual(tf.getBackend(), 'tensorflow');
  const a = tf.tensor2d([[1, 2], [3, 4]]);
  near(await tf.matMul(a, a).data(), [7, 10, 15, 22]);
  near(await tf.einsum('ij,kj->ik', a, a).data(), [5, 11, 11, 25]);
  near(await tf.real(tf.spectral.fft(tf.complex([1, 2, 3, 4], [0, 0, 0, 0]))).data(),
       [10, -2, -2, -2]);
  near(await tf.conv2d(tf.ones([1, 3, 3, 1]), tf.ones([3, 3, 1, 1]), 1, 'same').data(),
       [4, 6, 4, 6, 9, 6, 4, 6, 4]);
  const replaced = tf.string.staticRegexReplace(tf.tensor(['abc', 'xbz'], [2], 'string'), 'b', 'Q');
  assert.deepStrictEqual(await replaced.data(), ['aQc', 'xQz']);

  const png = await tf.node.encodePng(tf.fill([4, 5, 3], 7, 'int32'));
  const picture = tf.node.decodePng(png);
  assert.deepStrictEqual(picture.shape, [4, 5, 3]);
  assert.ok((await picture.data()).every((v) => v === 7));
  const jpeg = await tf.node.encodeJpeg(tf.fill([8, 8, 3], 100, 'int32'));
  assert.deepStrictEqual(tf.node.decodeImage(jpeg).shape, [8, 8, 3]);

  const logs = fs.mkdtempSync(path.join(os.tmpdir(), 'leat-tfjs-'));
  try {
    const model = tf.sequential({layers: [
      tf.layers.dense({units: 8, activation: 'relu', inputShape: [2]}),
      tf.layers.dense({units: 1})]});
    model.compile({optimizer: tf.train.adam(0.05), loss: 'meanSquaredError'});
    const inputs = tf.randomUniform([64, 2], 0, 1, 'float32', 7);
    const history = await model.fit(inputs, tf.sum(inputs, 1, true), {
      epochs: 20, verbose: 0, callbacks: [tf.node.tensorBoard(logs)]});
    const loss = history.history.loss;
    assert.ok(loss[19] < loss[0] / 4, `loss went from ${loss[0]} to ${loss[19]}`);
    assert.ok(fs.readdirSync(path.join(logs, 'train')).some((name) => name.includes('tfevents')));
    await model.save('file://' + path.join(logs, 'model'));
    const read = await tf.loadLayersModel('file://' + path.join(logs, 'model', 'model.json'));
    near(await read.predict(inputs).data(), [...await model.predict(inputs).data()]);
  } finally {
    fs.rmSync(logs, {recursive: true});
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
