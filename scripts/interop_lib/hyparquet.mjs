// Reads Parquet files with hyparquet, an implementation in JavaScript alone: `node hyparquet.mjs MODULES FILE...`.
//
// MODULES is the directory that has hyparquet installed. One JSON value a file goes to stdout: the schema by its
// elements, and the columns by their names. Values that JSON has none for are objects of one member: `i` a long as text,
// `f` a number that is none, `b` bytes as hexadecimal digits, `t` a time in microseconds, `d` a day. Decimals come as they
// are stored, because hyparquet makes doubles of them.

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [modules, ...files] = process.argv.slice(2)
const require = createRequire(pathToFileURL(`${modules}/`))
const load = (name) => import(pathToFileURL(require.resolve(name)))
const { asyncBufferFromFile, parquetMetadataAsync, parquetRead } = await load('hyparquet')
const { compressors } = await load('hyparquet-compressors')

const parsers = {
  timestampFromMilliseconds: (millis) => ({ t: String(BigInt(millis) * 1000n) }),
  timestampFromMicroseconds: (micros) => ({ t: String(micros) }),
  timestampFromNanoseconds: (nanos) => ({ t: String(BigInt(nanos) / 1000n) }),
  dateFromDays: (days) => ({ d: days }),
}

function plain(value) {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return { i: String(value) }
  if (typeof value === 'number') return Number.isFinite(value) ? value : { f: String(value) }
  if (value instanceof Uint8Array) return { b: Buffer.from(value).toString('hex') }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value, plain)
  if (typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
  return value
}

for (const path of files) {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const schema = metadata.schema.map((element) => ({ ...element }))
  for (const element of metadata.schema) {
    if (element.converted_type === 'DECIMAL') {
      delete element.converted_type
      delete element.logical_type
    }
  }
  // The columns by name: where none are named, hyparquet 1.33 takes column chunks to lie in the file in the order of
  // the schema, which the format does not ask for, and which they cannot where the first column is a partition column.
  const names = []
  for (let at = 1; at < schema.length; ) {
    names.push(schema[at].name)
    let left = 1
    while (left > 0) left += (schema[at++].num_children ?? 0) - 1
  }
  const read = async (options) => {
    let rows = []
    const onComplete = (found) => (rows = found.map((row) => row.map(plain)))
    const how = { compressors, parsers, utf8: false, columns: names, rowFormat: 'array' }
    await parquetRead({ file, metadata, onComplete, ...how, ...options })
    return rows
  }
  const rows = await read({})
  // The second half once more, by the offset indexes.
  const half = Math.floor(rows.length / 2)
  const again = await read({ rowStart: half, rowEnd: rows.length, useOffsetIndex: true })
  if (JSON.stringify(again) !== JSON.stringify(rows.slice(half))) throw new Error(`${path}: others by its offset index`)
  const columns = Object.fromEntries(names.map((name, child) => [name, rows.map((row) => row[child])]))
  const number = (key, value) => (typeof value === 'bigint' ? Number(value) : value)
  process.stdout.write(`${JSON.stringify({ schema, columns }, number)}\n`)
}
