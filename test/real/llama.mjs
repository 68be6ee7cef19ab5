// What a model says, computed by llama.cpp's own code for processors and on the device: llama.mjs FILE long|short
//
// A long prompt, or one without flash attention, has llama.cpp ask cuBLAS.
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const llama = await getLlama({gpu: "cuda", build: "never", logLevel: LlamaLogLevel.warn, maxThreads: 1});
console.log("devices:", (await llama.getGpuDeviceNames()).join(", "));

const long = process.argv[3] === "long";
const prompt = Array.from({length: long ? 20 : 4}, (_, i) => i ? 262 + i % 7 : 1);

// The most likely token again and again.
async function says(gpuLayers, flashAttention) {
	const model = await llama.loadModel({modelPath: process.argv[2], gpuLayers});
	const context = await model.createContext({contextSize: 256, batchSize: 32, threads: 1, flashAttention});
	const tokens = [];
	for await (const token of context.getSequence().evaluate(prompt, {temperature: 0})) {
		tokens.push(token);
		if (tokens.length === 24)
			break;
	}
	console.log(`${model.gpuLayers} layers on the device: ${tokens.join(" ")}`);
	await context.dispose();
	await model.dispose();
	return tokens.join(" ");
}
const want = await says(0, !long);
const same = want === (await says("max", true)) && (!long || want === (await says("max", false)));
console.log(same ? "the same" : "NOT the same");
process.exit(same ? 0 : 1);
