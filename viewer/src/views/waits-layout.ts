// Places the vertices and edges of the part of the wait-for graph that is drawn.
import { Graph, layout } from '@dagrejs/dagre';

import type { GraphChoice, WaitVertex } from './waits-graph.js';

export interface Point {
	readonly x: number;
	readonly y: number;
}

export interface GraphLayout {
	readonly width: number;
	readonly height: number;
	/** Centers and sizes, in the order of the vertices. */
	readonly vertices: readonly (Point & { readonly width: number; readonly height: number })[];
	/** Points of each edge, from its waiter to whom it waits for. */
	readonly edges: readonly (readonly Point[])[];
	/** Centers of the edges' labels. */
	readonly labels: readonly Point[];
}

export const VERTEX_HEIGHT = 40;
const LABEL = { width: 52, height: 16 };
/** How far below its vertex the edge of threads that wait for each other goes. */
const LOOP = 28;

/** Layout from left (who waits) to right (whom they wait for), or downwards if `isNarrow`. */
export function layoutGraph(choice: GraphChoice, widthOf: (vertex: WaitVertex) => number, isNarrow: boolean): GraphLayout {
	const graph = new Graph({ multigraph: true });
	graph.setGraph({
		rankdir: isNarrow ? 'TB' : 'LR', nodesep: 18, ranksep: isNarrow ? 34 : 30, edgesep: 14, marginx: 8, marginy: 8,
	});
	graph.setDefaultEdgeLabel(() => ({}));
	// Numbers, not names, so that no name can be a member of an object's prototype.
	const numbers = new Map(choice.vertices.map((vertex, number) => [vertex.name, String(number)]));
	choice.vertices.forEach((vertex, number) => {
		graph.setNode(String(number), { width: widthOf(vertex), height: VERTEX_HEIGHT });
	});
	choice.edges.forEach((edge, number) => {
		graph.setEdge(numbers.get(edge.from)!, numbers.get(edge.to)!, { ...LABEL, labelpos: 'c', weight: 1 }, String(number));
	});
	layout(graph);

	const given = graph.graph() as { width?: number; height?: number };
	/* Of nothing, the size is minus infinity. */
	const size = { width: Math.max(0, given.width ?? 0), height: Math.max(0, given.height ?? 0) };
	const edges = choice.edges.map((edge, number) => {
		return graph.edge(numbers.get(edge.from)!, numbers.get(edge.to)!, String(number)) as {
			points: Point[]; x?: number; y?: number;
		};
	});
	const vertices = choice.vertices.map((_, number) => {
		const at = graph.node(String(number)) as Point & { width: number; height: number };
		return { x: at.x, y: at.y, width: at.width, height: at.height };
	});
	const loops = choice.edges.map((edge) => edge.from === edge.to ? vertices[Number(numbers.get(edge.from)!)]! : null);
	const lowest = Math.max(0, ...loops.map((at) => at ? at.y + at.height / 2 + LOOP + LABEL.height : 0));
	return {
		width: size.width,
		height: Math.max(size.height, lowest),
		vertices,
		edges: edges.map((edge, number) => loops[number] ? loopPoints(loops[number]!) : edge.points),
		labels: edges.map((edge, number) => {
			const at = loops[number];
			return at ? { x: at.x, y: at.y + at.height / 2 + LOOP } : { x: edge.x ?? edge.points[0]!.x, y: edge.y ?? edge.points[0]!.y };
		}),
	};
}

/** Below a vertex, from its right half to its left: threads that wait for others like them. */
function loopPoints({ x, y, width, height }: Point & { width: number; height: number }): Point[] {
	const side = width / 4, edge = y + height / 2;
	return [
		{ x: x + side, y: edge }, { x: x + side + 8, y: edge + LOOP * 0.6 }, { x: x + side / 2, y: edge + LOOP },
		{ x: x - side / 2, y: edge + LOOP }, { x: x - side - 8, y: edge + LOOP * 0.6 }, { x: x - side, y: edge },
	];
}

/** A sixth of the way from `a` to `b`, at most `most` long. */
function tangent(a: Point, b: Point, most: number): Point {
	const length = Math.hypot(b.x - a.x, b.y - a.y) / 6;
	const scale = length > most ? most / length / 6 : 1 / 6;
	return { x: (b.x - a.x) * scale, y: (b.y - a.y) * scale };
}

/** The points but for the last `by` of their length: an arrowhead takes its place. */
export function shortened(points: readonly Point[], by: number): Point[] {
	const kept = [...points];
	for (let left = by; kept.length > 1; ) {
		const end = kept.pop()!, before = kept[kept.length - 1]!, length = Math.hypot(end.x - before.x, end.y - before.y);
		if (length > left) {
			const share = left / length;
			kept.push({ x: end.x - (end.x - before.x) * share, y: end.y - (end.y - before.y) * share });
			return kept;
		}
		left -= length;
	}
	return [...points];
}

/** A smooth SVG path through all points (a Catmull-Rom spline, with tangents that do not overshoot). */
export function smoothPath(points: readonly Point[]): string {
	const number = (value: number): string => value.toFixed(1);
	if (points.length < 2) return '';
	let path = `M${number(points[0]!.x)},${number(points[0]!.y)}`;
	for (let i = 0; i + 1 < points.length; i++) {
		const before = points[i - 1] ?? points[i]!;
		const from = points[i]!;
		const to = points[i + 1]!;
		const after = points[i + 2] ?? to;
		const most = Math.hypot(to.x - from.x, to.y - from.y) / 3;
		const leave = tangent(before, to, most);
		const arrive = tangent(from, after, most);
		path += `C${number(from.x + leave.x)},${number(from.y + leave.y)} ${number(to.x - arrive.x)},${number(to.y - arrive.y)} ${number(to.x)},${number(to.y)}`;
	}
	return path;
}
