// What a model says, computed by llama.cpp's own code for processors and on the device: llama.mjs FILE
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const llama = await getLlama({gpu: "cuda", build: "never", logLevel: LlamaLogLevel.warn, maxThreads: 1});
console.log("devices:", (await llama.getGpuDeviceNames()).join(", "));

// The most likely token again and again.  The prompt is short, and there is flash attention: for longer ones
// llama.cpp asks cuBLAS, which has no PTX for the CPU device.
async function says(gpuLayers) {
	const model = await llama.loadModel({modelPath: process.argv[2], gpuLayers});
	const context = await model.createContext({contextSize: 256, batchSize: 8, threads: 1, flashAttention: true});
	const tokens = [];
	for await (const token of context.getSequence().evaluate([1, 262, 263, 264], {temperature: 0})) {
		tokens.push(token);
		if (tokens.length === 24)
			break;
	}
	console.log(`${model.gpuLayers} layers on the device: ${tokens.join(" ")}`);
	await context.dispose();
	await model.dispose();
	return tokens.join(" ");
}
const same = (await says(0)) === (await says("max"));
console.log(same ? "the same" : "NOT the same");
process.exit(same ? 0 : 1);
