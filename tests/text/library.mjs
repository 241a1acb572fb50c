// Writes library.json: what moment.js, seedrandom and droll answer, for tests/all/library.rs.
// Run with TZ=UTC where `moment`, `seedrandom` and `droll` are installed: node library.mjs > library.json
import moment from "moment";
import seedrandom from "seedrandom";
import droll from "droll";

moment.suppressDeprecationWarnings = true;
const instants = [
  "2024-02-29T00:04:05.006Z", "2023-11-30T23:05:59.000Z", "2023-12-31T12:00:00.120Z", "2021-01-03T09:09:09.999Z",
  "2024-01-01T00:00:00.000Z", "2020-12-28T13:30:00.000Z", "0099-06-15T01:02:03.000Z", "-000043-03-15T11:22:33.000Z",
  "1969-12-31T23:59:59.999Z", "2022-01-01T21:11:12.000Z", "2016-08-22T22:23:24.000Z",
].map((t) => Date.parse(t));
const patterns = [
  ..."M Mo MM MMM MMMM Q Qo D Do DD DDD DDDo DDDD d do dd ddd dddd e E w wo ww W Wo WW YY YYYY YYYYY YYYYYY Y y yy yyy yyyy yo".split(" "),
  ..."N NN NNN NNNN NNNNN gg gggg ggggg GG GGGG GGGGG A a H HH h hh k kk m mm s ss S SS SSS SSSS SSSSSSSSS z zz Z ZZ X x".split(" "),
  ..."hmm hmmss Hmm Hmmss L LL LLL LLLL LT LTS l ll lll llll LLLLL lllll LTT YYY MMMMM g G T".split(" "),
  "", "[at] H", "[week] W", "dddd, Do MMMM", "[a] b] M", "[open M", "\\Y\\MM \\LT \\[M]", "M\\", "a\nM\r\nD", "YYYY年M月D日", "w| W|",
  "[]", "[[M]]", "h:mm A [on] l", "LT LL", "hhmm", "Hmmsss", "DDDDD", "ddddd", "yyyyy",
];
const format = [];
for (const at of instants) for (const p of patterns) format.push([at, null, p, moment(at).format(p)]);
for (const offset of [0, 2, -4, 15, -15, 16, 90, -330, 845, 5000]) {
  for (const p of ["", "LLLL", "Z ZZ z zz", "x"]) format.push([instants[1], offset, p, moment(instants[1]).utc().utcOffset(offset).format(p)]);
}

const texts = [
  "2024-01-02", "2024-01-02 12:00:00", "2024-01-02T12:00", "2024-01-02T12:00:00.5Z", "2024-01-02T12:00:00+02:00", "2024-01-02 12:00 Z",
  "2024-01-02T12:00:00,123-0330", "2024-W05-2", "2024-W05", "2024-060", "2024-366", "2023-366", "2024-05", "20240102", "20240102T1230",
  "2024W052", "2024060", "202405", "2024", "2024-05 10:00", "2024-13-01", "2024-02-30", "2024-01-02T24:00", "2024-01-02T24:01",
  "2024-01-02T12:60", "  2024-01-02", "2024-01-02 ", "+002024-01-02", "Mon, 01 Jan 2024 10:00:00 +0000", "1 Jan 24 10:00 EST",
  "Tue, 01 Jan 2024 10:00:00 GMT", "01 Jan 2024 (note) 10:00:00 Z", "31 Feb 2024 10:00 GMT", "June 19, 2023 2:20pm", "June 19, 2023 12:20am",
  "November 30, 2023 11:05 PM", "November 30, 2023", "11:05 PM", "3/5/2024", "3/5/24 10:00", "13/5/2024", "2024/3/5", "2024-3-5", "2024-3-5 7:08:09.25",
  "5 March 2024", "March 5", "March 2024", "Mar-5-2024", "5-Mar-2024", "banana", "", "banana 5 March 2024", "5 March 2024 banana", "12",
  "1704067200000", "Tue Mar 05 2024 14:07:09 GMT+0000 (Coordinated Universal Time)", "2024-01-02 10:00:00 UTC", "2024-01-02 10:00 GMT+2",
  "2024-01-02 10:00 GMT-0330", "2024-01-02 10:00 GMT-03:30", "Feb 30 2024", "Feb 32 2024", "25:00 3/5/2024", "3/5/2024 13:00 pm", "2024-01-02T3:04",
  "2024-7-12@01h31m37s123ms", "tomorrow", "now", "49 Jan 50", "1/2/3", "Jan 1 2024 10:00:00.1234567", "(x) Jan 1 2024", "Jan 1 2024)", "10:00",
  "2024.03.05", "5.3.2024", "Sept 5, 2024", "2024-01-02 10:00 am", "2024-01-02 1:00 pm", "2024-01-02 12:00 AM", "5th March 2024", "March 5th, 2024", "2024-01-02:", "2407:5(x)", "2024-01-02-3", "2024-13-2",
];
const parse = texts.map((t) => { const m = moment(t); return [t, m.isValid() ? m.valueOf() : null]; });

const S = 1000, M = 60 * S, H = 60 * M, D = 24 * H;
const spans = [0, 1, 44 * S, 44.4 * S, 44.5 * S, 45 * S, 89 * S, 90 * S, 44 * M, 44.5 * M, 45 * M, 89 * M, 90 * M, 21 * H, 21.5 * H, 22 * H, 35 * H, 36 * H,
  25 * D, 25.5 * D, 26 * D, 45 * D, 46 * D, 300 * D, 319 * D, 320 * D, 345 * D, 547 * D, 548 * D, 700 * D, 4000 * D];
const humanize = spans.flatMap((n) => [n, -n]).map((n) => [n, moment.duration(n).humanize(), moment.duration(n).humanize(true)]);

const seeds = ["", "a", "hello.", "8105731263446533", "x".repeat(300), "日本 🎲", "1", "1234-5678-0"];
const seeded = seeds.map((s) => [s, seedrandom(s)()]);
const numbers = [0, 1, 12345, 8105731263446533].map((n) => [String(n), seedrandom(n)()]);

const dice = ["6", "06", "0", "d20", "D4", "2d6", "2d6+3", "3d6-2", "d", "2d", "0d6", "1d0", "01d6", "2d6+", "2d6++1", "1d6 + 2", " 1d6", "1d6+1d4", "", "-1d6", "1d6+007", "banana", "+6"];
const rolls = dice.map((text) => {
  const formula = /^\d+$/.test(text) ? `1d${text}` : text;
  const draws = [0.5, 0, 0.99];
  const random = Math.random;
  Math.random = () => draws.shift();
  const result = droll.roll(formula);
  Math.random = random;
  return [text, result ? result.total : null];
});
const lines = (rows) => "[\n" + rows.map((r) => "  " + JSON.stringify(r)).join(",\n") + "\n]";
console.log("{" + Object.entries({ format, parse, humanize, seeded, numbers, rolls }).map(([k, v]) => `"${k}": ${lines(v)}`).join(",\n") + "}");
