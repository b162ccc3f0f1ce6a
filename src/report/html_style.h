// The style sheet of the HTML report: one place for its colours and its layout.
#pragma once

namespace pipesim::report {

/// Colours of states: Okabe and Ito, "Color Universal Design", 2008; Wong, Nature Methods 8, 441,
/// 2011. Text has a contrast of at least 4.5 : 1 on its ground (WCAG 2.1, 1.4.3).
inline constexpr char kStyle[] = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1c1e;--dim:#595d62;--rule:#dcdcd8;--grid:#e4e4e0;
--soft:#f5f5f2;--good:#00664a;--attention:#9a4500;--bad:#b00020;--ink:#1b1c1e;--line:#0072b2;
--second:#a05400}
@media screen and (prefers-color-scheme:dark){:root{--bg:#16181b;--fg:#e9e9e6;--dim:#a9adb2;
--rule:#3a3e43;--grid:#2d3135;--soft:#1f2226;--good:#4fcfa3;--attention:#f0a860;--bad:#ff8a80;
--ink:#e9e9e6;--line:#56b4e9;--second:#e69f00}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 3rem}
.kicker{margin:0 0 .25rem;color:var(--dim);font-size:.875rem;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:.1rem 0 .9rem;font-weight:600;overflow-wrap:anywhere}
h1 b{font-weight:700}.good b{color:var(--good)}.attention b{color:var(--attention)}
.bad b{color:var(--bad)}
h2{font-size:1.0625rem;line-height:1.35;margin:0 0 .6rem;font-weight:650}
h3{font-size:.9375rem;margin:1rem 0 .1rem;font-weight:600;display:flex;gap:.2rem 1rem;
justify-content:space-between;flex-wrap:wrap}
h3 span{font-weight:400;color:var(--dim)}
p{margin:.35rem 0;max-width:46rem;overflow-wrap:anywhere}
.hanging{padding-left:1rem}.note{color:var(--dim);font-size:.875rem}
section,details.section{border-top:1px solid var(--rule);margin-top:1.6rem;padding-top:1.1rem}
details.section+details.section{margin-top:.8rem}
summary{cursor:pointer;color:var(--dim);font-size:.875rem;margin:.4rem 0}
summary h2{display:inline;color:var(--fg);font-size:1rem}
.command{background:var(--soft);border:1px solid var(--rule);border-radius:4px;margin:.4rem 0 .8rem;
padding:.55rem .7rem;font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
white-space:pre-wrap;overflow-wrap:anywhere;user-select:all}
.plain{overflow-x:auto;font:.8125rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.figures{display:flex;flex-wrap:wrap;gap:.6rem 2.2rem;margin:1.2rem 0 .6rem;padding:0}
.figures div{min-width:9rem}.figures dt{font-size:1.7rem;line-height:1.2;font-weight:600}
.figures dd{margin:0;color:var(--dim);font-size:.875rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:baseline;
border-bottom:1px solid var(--grid)}
th{font-weight:500}thead th{color:var(--dim);font-weight:400;vertical-align:bottom}
th:last-child,td:last-child{padding-right:0}
.n{text-align:right;white-space:nowrap}.dim{color:var(--dim)}
tr.limit th,tr.limit td{font-weight:600}
.long{overflow-wrap:anywhere}
svg{display:block;overflow:hidden}
svg text{fill:var(--ink);font-size:12px}svg .tick{fill:var(--dim);stroke:var(--bg);
stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
svg .mark{stroke:var(--bg);stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.plot svg{overflow:visible}
.patterns{position:absolute}.patterns path{stroke:#000;stroke-opacity:.35;stroke-width:1.3;fill:none}
.swatch{display:inline-block;vertical-align:-1px;margin-right:.5rem}
.grid{stroke:var(--grid)}.axis{stroke:var(--dim)}
.busy{fill:#0072b2}.starved{fill:#e69f00}.contended{fill:#d55e00}.blocked{fill:#cc79a7}
.transfer{fill:#56b4e9}.launch{fill:#f0e442}.sync{fill:#009e73}.other{fill:#999}
.hatch{pointer-events:none}.h-starved{fill:url(#diagonal)}.h-blocked{fill:url(#back)}
.h-contended{fill:url(#dots)}.h-bound{fill:url(#diagonal)}
svg .on{fill:#111;font-size:13px;font-weight:600;paint-order:stroke}svg .on-busy{fill:#fff}
.on-starved,.on-blocked,.on-contended{stroke-width:6px;stroke-linejoin:round}
.on-starved{stroke:#e69f00}.on-blocked{stroke:#cc79a7}.on-contended{stroke:#d55e00}
.track{fill:var(--soft)}.edge{stroke:var(--bg);stroke-width:2}
.bar{fill:#0072b2}.bar-loss{fill:#d55e00}.bar-bound{fill:#999}.bar-refuted{fill:#999}
.interval{stroke:var(--ink);stroke-width:1.5}.zero{stroke:var(--dim)}
.tried{fill:var(--bg);stroke:var(--ink);stroke-width:2}.tried-line{stroke:var(--ink);stroke-width:2}
.line{fill:none;stroke:var(--line);stroke-width:1.75;vector-effect:non-scaling-stroke}
.line-2{fill:none;stroke:var(--second);stroke-width:1.75;vector-effect:non-scaling-stroke;
stroke-dasharray:5 3}
.c1{color:var(--line)}.c2{color:var(--second)}
.s0,.s1,.s2,.s3,.s4{fill:none;stroke-width:1.75;vector-effect:non-scaling-stroke}
.s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}.s3{stroke:#cc79a7}.s4{stroke:#999}
.enqueued{stroke-dasharray:5 3}.dot{fill:var(--bg)}
.warmup{fill:var(--dim);fill-opacity:.14}.event{stroke:var(--dim);stroke-dasharray:2 3}
.hit{fill:transparent}.hit:hover{fill:var(--dim);fill-opacity:.18}
.point{fill:var(--line)}.point-2{fill:var(--bg);stroke:var(--second);stroke-width:2}
.ring{fill:none;stroke:var(--ink);stroke-width:2}.failed{stroke:var(--bad);stroke-width:2}
.target{stroke:var(--bad);stroke-dasharray:5 3}
.maps{display:grid;gap:1rem 2rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,max(22rem,calc(var(--widest,0)*.45rem))),1fr))}
.maps>*{min-width:0;container-type:inline-size}
.map{width:auto;font-size:clamp(.75rem,calc(100cqw/(var(--characters)*.6)),.875rem)}
.map th{padding:.35em .5em .35em 0;color:var(--dim);border:0;white-space:nowrap}
.map td{padding:.4em .4em;text-align:right;border:1px solid var(--bg);white-space:nowrap;
print-color-adjust:exact;-webkit-print-color-adjust:exact}
.map td.word{text-align:left}
.map td.best{outline:2px solid currentColor;outline-offset:-2px;font-weight:700}
.map td.enough{outline:2px dashed currentColor;outline-offset:-2px}
.v-work{background:#0072b2;color:#fff}.v-io{background:#56b4e9;color:#111}
.v-loader{background:#e69f00;color:#111}.v-cpu{background:#d55e00;color:#111}
.v-contention{background:#cc79a7;color:#111}.v-h2d{background:#9fd3f2;color:#111}
.v-launch{background:#f0e442;color:#111}.v-sync{background:#009e73;color:#111}
.v-host{background:#c9b458;color:#111}.v-balanced{background:#d0d0d0;color:#111}
.f-work{fill:#0072b2}.f-io{fill:#56b4e9}.f-loader{fill:#e69f00}.f-cpu{fill:#d55e00}
.f-contention{fill:#cc79a7}.f-h2d{fill:#9fd3f2}.f-launch{fill:#f0e442}.f-sync{fill:#009e73}
.f-host{fill:#c9b458}.f-balanced{fill:#d0d0d0}.f-open{fill:var(--soft)}
.cells rect{shape-rendering:crispEdges}.halo{stroke:#000;outline:1px solid #fff}
.words span{display:inline-block;padding:.05rem .5rem;font-size:.8125rem;
print-color-adjust:exact;-webkit-print-color-adjust:exact}
.v-open,.v-none{background:var(--soft);color:var(--fg)}
.map thead th+th{text-align:right;padding:.35em .4em}
.key{white-space:nowrap;display:flex;align-items:center;gap:.5rem;font-size:.8125rem;color:var(--dim);margin:.4rem 0}
.key i{height:.7rem;flex:0 1 12rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.what-if th:first-child{min-width:8.5rem}
.what-if .chart{width:34%;min-width:9rem;padding:0 1rem 0 0}
thead .chart svg{margin-bottom:2px}
.ladder .share{width:22%}.rank .chart{width:24%;min-width:6rem}
.what-if td,.what-if th,.rank td,.rank th{vertical-align:middle}
.rank th,.rank td:not(.long){white-space:nowrap}.rank .long{min-width:9rem}
.wide{display:none}
@media (min-width:720px){.wide{display:inline}}
@media (max-width:719px){
.map td,.map thead th+th{padding:.35em .3em}
.times td.n[data-label$="a step"]::after,.times td.n[data-label$="a batch"]::after{
content:" " attr(data-label);color:var(--dim)}
h1{font-size:1.35rem}.figures dt{font-size:1.4rem}.figures{gap:.6rem 1.4rem}
.what-if,.what-if tbody,.ladder,.ladder tbody,.times,.times tbody{display:block}
.what-if thead,.ladder thead,.times thead{display:none}
.what-if tr,.ladder tr,.times tr{display:flex;flex-wrap:wrap;gap:0 .9rem;padding:.5rem 0;
align-items:baseline;border-bottom:1px solid var(--grid)}
.what-if th,.what-if td,.ladder th,.ladder td,.times th,.times td{border:0;padding:0}
.what-if th{flex:1 1 60%;font-weight:600}.what-if .gain{margin-left:auto}
.what-if .chart{order:1;flex:0 0 100%;width:100%;padding:.15rem 0}.what-if td{order:2}
.what-if td.gain{order:0}
.what-if td:not(.chart):not(.gain):empty{display:none}
.what-if td:not(.chart):not(.gain)::before{content:attr(data-label) " ";color:var(--dim)}
.ladder th{flex:0 0 2.5rem}.ladder .long{flex:1 1 60%}.ladder .share{flex:0 0 100%;width:100%}
.times .gloss{order:3;flex:0 0 100%;padding-left:1.4rem}.times .n{margin-left:auto}
.times .n+.n{margin-left:0;min-width:3rem}
}
@media print{body{font-size:11pt}main{max-width:none;padding:0}
section,table,svg,.command,.figures{break-inside:avoid}h2,h3{break-after:avoid}
.scroll{overflow:visible}}
)css";

}  // namespace pipesim::report
