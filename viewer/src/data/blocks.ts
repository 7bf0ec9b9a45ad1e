// Decodes blocks, see docs/page.md.

/** The bytes of a block from its base64 text. */
export async function inflate(base64: string): Promise<Uint8Array> {
	const bytes = fromBase64(base64);
	const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

interface NativeBase64 { fromBase64?(text: string): Uint8Array }

export function fromBase64(text: string): Uint8Array {
	const native = (Uint8Array as unknown as NativeBase64).fromBase64;
	if (native) return native.call(Uint8Array, text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}

export function decodeStrings(bytes: Uint8Array): string[] {
	const strings = new TextDecoder().decode(bytes).split('\0');
	strings.pop();
	return strings;
}

export interface Table {
	rows: number;
	bytes: Uint8Array;
	/** By column: where it begins, and its width in bytes. */
	offsets: number[];
	widths: number[];
}

export function openTable(bytes: Uint8Array): Table {
	let at = 0;
	const varint = (): number => {
		let value = 0;
		for (let scale = 1; ; scale *= 128) {
			const byte = bytes[at++];
			if (byte === undefined) throw new Error('a table is cut short');
			value += (byte & 127) * scale;
			if (byte < 128) return value;
		}
	};
	const columns = varint(), rows = varint();
	const widths = Array.from(bytes.subarray(at, at + columns));
	let offset = at + columns;
	const offsets = widths.map((width) => {
		const begin = offset;
		offset += width * rows;
		return begin;
	});
	if (offset !== bytes.length) throw new Error('a table is of another length');
	return { rows, bytes, offsets, widths };
}

type Numbers = Float64Array | Uint32Array | Int32Array | Uint16Array | Uint8Array;

/** Sets elements of `to`, from element `first` on, to `count` numbers of column `column`, from row `row` on. */
export function readColumn(table: Table, column: number, to: Numbers, first = 0, row = 0, count = table.rows - row): void {
	const width = table.widths[column]!, { bytes, rows } = table, a = table.offsets[column]! + row;
	const b = a + rows, c = b + rows, d = c + rows;
	if (width === 0) to.fill(0, first, first + count);
	else if (width === 1) for (let i = 0; i < count; i++) to[first + i] = bytes[a + i]!;
	else if (width === 2) for (let i = 0; i < count; i++) to[first + i] = bytes[a + i]! | bytes[b + i]! << 8;
	else if (width === 3) for (let i = 0; i < count; i++) to[first + i] = bytes[a + i]! | bytes[b + i]! << 8 | bytes[c + i]! << 16;
	else
		for (let i = 0; i < count; i++) {
			let value = (bytes[a + i]! | bytes[b + i]! << 8 | bytes[c + i]! << 16 | bytes[d + i]! << 24) >>> 0;
			for (let plane = 4, scale = 2 ** 32; plane < width; plane++, scale *= 256) value += bytes[a + plane * rows + i]! * scale;
			to[first + i] = value;
		}
}

/** Signed numbers as they were before they were zigzag-coded. */
export function unzigzag(numbers: Float64Array): Float64Array {
	for (let i = 0; i < numbers.length; i++) {
		const coded = numbers[i]!;
		numbers[i] = coded % 2 ? -(coded + 1) / 2 : coded / 2;
	}
	return numbers;
}

export function column(table: Table, number: number, signed = false): Float64Array {
	const numbers = new Float64Array(table.rows);
	readColumn(table, number, numbers);
	return signed ? unzigzag(numbers) : numbers;
}
