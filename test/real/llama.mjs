// Compare the next tokens that a model predicts on llama.cpp's CPU code and on the device: llama.mjs FILE long|short
//
// With a long prompt, or without flash attention, llama.cpp uses cuBLAS.
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const llama = await getLlama({gpu: "cuda", build: "never", logLevel: LlamaLogLevel.warn, maxThreads: 1});
console.log("devices:", (await llama.getGpuDeviceNames()).join(", "));

const long = process.argv[3] === "long";
const prompt = Array.from({length: long ? 20 : 4}, (_, i) => i ? 262 + i % 7 : 1);
const text = Array.from({length: 16}, (_, i) => 3 + i * 37 % 256); // then one token at a time

// The probability of each token after the prompt, and after each token of the text.
async function thinks(gpuLayers, flashAttention) {
	const model = await llama.loadModel({modelPath: process.argv[2], gpuLayers});
	const context = await model.createContext({contextSize: 256, batchSize: 32, threads: 1, flashAttention});
	const sequence = context.getSequence();
	const generateNext = {probabilities: true, options: {temperature: 1}};
	const found = [];
	for (const tokens of [prompt, ...text.map(token => [token])]) {
		const input = tokens.map((token, i) => i === tokens.length - 1 ? [token, {generateNext}] : token);
		const next = (await sequence.controlledEvaluate(input)).at(-1).next;
		found.push(next.probabilities);
	}
	console.log(`${model.gpuLayers} layers on the device, flash attention ${flashAttention}: most likely`,
		found.map(p => [...p.entries()].reduce((a, b) => b[1] > a[1] ? b : a)[0]).join(" "));
	await context.dispose();
	await model.dispose();
	return found;
}

function difference(a, b) {
	let most = 0;
	a.forEach((p, i) => p.forEach((value, token) => {
		most = Math.max(most, Math.abs(value - (b[i].get(token) ?? NaN)));
	}));
	return most;
}

const want = await thinks(0, !long);
let failed = false;
for (const flash of long ? [true, false] : [true]) {
	const most = difference(want, await thinks("max", flash));
	console.log(`probabilities differ by ${most.toFixed(6)} at most`);
	failed ||= !(most < 0.01); // some values have half precision: 11 bits
}
console.log(failed ? "NOT the same" : "the same");
process.exit(failed ? 1 : 0);
