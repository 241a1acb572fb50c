// Writes patterns.json: what node says about each pattern. Run: node tests/text/patterns.mjs
import { writeFileSync } from 'node:fs';
const rows = [
  // ordinary scripts
  [String.raw`\*([^*]+)\*`, 'g', 'a *b c* d *e*'], [String.raw`"([^"]*)"`, 'g', 'she said "hi" and "bye"'],
  [String.raw`<think>[\s\S]*?<\/think>\s*`, 'gi', 'a<THINK>x\ny</think>\n\nb<think></think>'],
  [String.raw`^\s+|\s+$`, 'g', '  both ends \n'], [String.raw`^\s*[-*]\s+(.*)$`, 'gm', '- one\n* two\n3. three'],
  [String.raw`\n{3,}`, 'g', 'a\n\n\n\nb\n\nc'], [String.raw`(\w+)@(\w+)\.com`, '', 'me@here.com you@there.com'],
  [String.raw`\b(cat|dog)s?\b`, 'gi', 'Cats, dog; catsup DOGS'], [String.raw`(?<y>\d{4})-(?<m>\d\d)`, 'g', '2024-05 and 1999-12'],
  [String.raw`\[(.*?)\]\((.*?)\)`, 'g', '[a](b) [c](d)'], ['cat', '', 'concat cat'], ['x*', 'g', 'axxb'], [String.raw`\w*`, 'g', 'abc de'],
  ['(?:)', 'g', 'ab'], ['a|ab', 'g', 'abab'], ['(a|ab)(c|bcd)(d*)', '', 'abcd'], ['a{2}', 'g', 'aaaaa'], ['a{2,3}?', 'g', 'aaaaa'], ['a{2,}', 'g', 'aaa a'],
  ['[a-c]+?', 'g', 'abcd'], ['(a+)+$', '', 'aaaab'], [String.raw`^(\w+\s?)*$`, '', 'one two three!'],
  // classes and shorthands
  [String.raw`\d+`, 'g', '12 ٣٤ 56'], [String.raw`\w+`, 'g', 'naïve café ſK'], [String.raw`\W+`, 'g', 'aé b'], [String.raw`\s`, 'g', 'a\u00a0b\ufeffc\u0085d\u2003e\u180ef'],
  [String.raw`\S+`, 'g', 'a\u00a0b\ufeffc\u0085d'], [String.raw`\bé\b|\bcaf\b`, 'g', 'café é'], [String.raw`\B`, 'g', 'ab c'], [String.raw`\Ba\B`, 'g', 'bac a aab'],
  ['[^]', 'g', 'a\nb'], ['[]', 'g', 'abc'], ['[^a]b', 'g', '\nb ab éb'], [String.raw`[\w-]+`, 'g', 'a-b c_d'], [String.raw`[\d-x]+`, 'g', '1-x 2y'],
  [String.raw`[\b]`, 'g', 'a\bb'], [String.raw`[a\]b]+`, 'g', 'a]b['], ['[a-', '', ''], ['[b-a]', '', ''], [String.raw`[\s\S]+`, '', 'a\nb'], [String.raw`[^\S\n]+`, 'g', 'a \t\n b'],
  [String.raw`[&&]+|[~~]|[--a]+`, 'g', 'a&&b~-'], ['[[a]+', 'g', '[a[['],
  // line ends
  ['.', 'g', 'a\nb\rc\u2028d\u2029e\u0085f'], ['.', 'gs', 'a\nb\r\u2028'], ['^.', 'gm', 'a\nb\rc\u2028d\r\ne'], ['.$', 'gm', 'a\nb\rc\u2029d\r\ne'], ['a$', '', 'a\n'], ['a$', 'm', 'a\n'],
  ['^', 'gm', 'a\n\nb'], ['$', 'gm', 'a\n\nb'], ['^a', 'g', 'aa\na'], ['^$', 'gm', 'a\n\n'], ['^(?:- .*\\n?)+', 'gm', '- a\n- b\n\n- c'], [String.raw`^.*\r$`, 'gm', 'ab\r\ncd'],
  // case
  ['straße', 'gi', 'STRASSE straße STRAẞE'], ['k', 'gi', 'k K \u212a'], ['k', 'giu', 'k K \u212a'], ['s', 'gi', 's S ſ'], ['s', 'giu', 's S ſ'], ['[a-z]+', 'gi', 'AbC ſK\u212a'],
  ['ÉTÉ', 'gi', 'été Été'], ['σ', 'gi', 'σ ς Σ'], ['[^k]', 'gi', 'kK\u212ax'], [String.raw`\w+`, 'giu', 'aſ\u212a'], [String.raw`\bs\b`, 'giu', 's ſs'], ['ω', 'gi', 'ω Ω \u2126'], ['µ', 'gi', 'µ μ Μ'], ['ǆ', 'gi', 'ǆ ǅ Ǆ'],
  ['[^x]', 'giu', 'Xx\u212a'], [String.raw`привет`, 'gi', 'ПРИВЕТ Привет'],
  // escapes
  [String.raw`\x41\u0042\cJ`, '', 'AB\n'], [String.raw`\u{1F600}`, 'u', 'a😀'], [String.raw`\u{3}`, '', 'uuu'], [String.raw`\ud83d\ude00`, '', 'a😀'], [String.raw`\ud83d\ude00`, 'u', 'a😀'],
  [String.raw`[\ud83c-\ud83e][\udc00-\udfff]`, 'g', 'a😀b🎉'], [String.raw`(?:[\u2700-\u27bf]|[\ud800-\udbff][\udc00-\udfff])`, 'g', '✂ 😀x'], [String.raw`\p{L}+`, 'gu', 'naïve Ωx1'], [String.raw`\p{L}`, 'g', 'p{L}'],
  [String.raw`\p{Script=Cyrillic}+`, 'gu', 'abc где'], [String.raw`[^\p{L}]+`, 'gu', 'a1b'], [String.raw`\P{L}+`, 'gu', 'a1b'], [String.raw`\P{Lu}`, 'giu', 'aA'], [String.raw`\07\101`, '', '\x07A'], [String.raw`\0`, '', 'a\0'], [String.raw`\8`, '', '8'], [String.raw`\1(a)`, '', 'aa'], [String.raw`\a\q`, '', 'aq'],
  [String.raw`\q`, 'u', 'q'], [String.raw`\c`, '', '\\c'], [String.raw`[\c_]`, '', '\x1f'], [String.raw`a\/b`, '', 'a/b'], [String.raw`\k<x>`, '', 'k<x>'], ['{', 'g', 'a{b'], ['a{,5}', '', 'a{,5}'], ['a{1', '', 'a{1'], ['x{', 'u', ''], [']', '', 'a]'], ['}', 'u', ''], [String.raw`\u{110000}`, 'u', ''], [String.raw`\-`, 'u', ''],
  // groups
  ['(?:(a)|b)*', '', 'ab'], ['(z)((a+)?(b+)?(c))*', '', 'zaacbbbcac'], ['(a*)*', '', 'b'], ['(a*)?', '', 'b'], ['(?:a*)*', '', 'aaab'], ['(?:|a)+', '', 'aaa'], ['(?:a?)*?b', '', 'aab'], ['(a)|(b)', 'g', 'ba'],
  [String.raw`(?:(a)|(b))+`, '', 'abab'], [String.raw`\b(\w+)\s+\1\b`, 'g', 'the the cat cat sat'], [String.raw`(a)?\1b`, 'g', 'aab b ab'], [String.raw`\b(\w)\w*\1\b`, 'gi', 'Abba xyz noon'], [String.raw`(?<q>['"])(.*?)\k<q>`, 'g', `'a' "b'c"`],
  [String.raw`(\1a)`, '', 'aa'], [String.raw`(a\1)`, '', 'aa'], [String.raw`(?<a>.)(?<a>.)`, '', ''], ['(?<1a>x)', '', ''], ['(?i:a)', '', 'A'], ['(', '', ''], [')', '', ''], ['a**', '', ''], ['*', '', ''], ['a{2,1}', '', ''], [String.raw`(?<$v>x)`, '', 'x'],
  // look-around
  [String.raw`\d+(?=%)`, 'g', '5% 6 77%'], [String.raw`\d+(?!%|\d)`, 'g', '5% 6 77%'], [String.raw`(?<=\$)\d+`, 'g', '$5 6 $77'], [String.raw`(?<!\$)\b\d+`, 'g', '$5 6 $77'], [String.raw`(?<=([ab]+)([bc]+))$`, '', 'abc'],
  [String.raw`(?=(\w+))\1:`, '', 'abc:'], [String.raw`(?!(a))b\1`, 'g', 'b'], [String.raw`(?<=\*)[^*]+(?=\*)`, 'g', '*a* b *c*'], [String.raw`(?<=^|\n)- `, 'g', '- a\n- b'], [String.raw`foo(?=[\s\S]*bar)`, 'g', 'foo foo\nbar foo'],
  [String.raw`(?:(?!<\/b>)[\s\S])*<\/b>`, '', 'x<b>y</b>z'], [String.raw`(?<=a.*)c`, 'g', 'abcc c\nc'], ['(?=a)*b', '', 'b'], ['(?=a)*b', 'u', 'b'], ['(?<=a)*b', '', 'b'], [String.raw`^(?!.*bad).*$`, 'gm', 'good\nbad one\nfine'], [String.raw`(?<![\w])cat(?![\w])`, 'gi', 'Cat concat cat.'],
  // found by random patterns
  ['(?:ſ?|[a-c])?ſ{0,2}?', 'g', 'a\n1a_'], [String.raw`(?<!(?<=$)(?:[^a]+?.*?)+?)`, 'gm', 'c1\nKb'], [String.raw`(?<!(?:a+){0,2}?\b\d*)[^a]{0,2}?`, 'gm', 'A1 S\rK'], [String.raw`s*|(?<!(x|\w+?A)?\.+)`, 'gi', '\rſcs-É'],
  [String.raw`(?<=^|\n)\w`, 'gm', 'a\nb\rc'],
  // flags
  ['a', 'y', 'ba'], ['a', 'gy', 'aaba'], ['a', 'gg', ''], ['a', 'x', ''],
];
const bytes = (text) => Buffer.byteLength(text);
const out = rows.map(([source, flags, input]) => {
  const row = { source, flags, input };
  try {
    const re = new RegExp(source, flags);
    const list = re.global ? [...input.matchAll(re)] : [re.exec(input)].filter(Boolean);
    row.matches = list.map((m) => ({ start: bytes(input.slice(0, m.index)), text: m[0], groups: m.slice(1).map((g) => g ?? null) }));
  } catch (error) {
    row.error = error.message;
  }
  return row;
});
writeFileSync(new URL('patterns.json', import.meta.url), '[\n' + out.map((r) => JSON.stringify(r)).join(',\n') + '\n]\n');
console.log(out.length, 'rows,', out.filter((r) => r.error).length, 'errors');
