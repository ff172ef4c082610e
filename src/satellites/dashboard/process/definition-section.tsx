/** How a process is run, without secrets; for tokens with the scope `admin`. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { printableLine } from "../../../core/base/printable.ts";
import type { DefinitionRecord, VariableRecord, WrittenPart } from "../../../core/contract/definition-record.ts";
import { useApp, useRights } from "../parts/app-context.ts";
import { ScrollArea } from "../parts/scroll-area.tsx";

export function DefinitionSection({ id }: { readonly id: string }): JSX.Element | null {
  const { model } = useApp();
  const { mayAdministrate } = useRights();
  const [definitions, setDefinitions] = useState<readonly DefinitionRecord[]>([]);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    if (mayAdministrate) model.client.definitions(id).then(setDefinitions, (error: Error) => setProblem(error.message));
  }, [model, id, mayAdministrate]);
  const [first] = definitions;
  if (!mayAdministrate || (first === undefined && problem === undefined)) return null;
  return (
    <section aria-labelledby="definition-title">
      <h2 id="definition-title">Configuration{definitions.length > 1 ? " (same for all instances)" : ""}</h2>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {first !== undefined && <DefinitionFacts definition={first} isOne={definitions.length === 1} />}
      {first?.written !== undefined && <WrittenText written={first.written} />}
    </section>
  );
}

/** `isOne`: false: it is the first of several instances, whose ports differ. */
type DefinitionFactsProps = { readonly definition: DefinitionRecord; readonly isOne: boolean };

function DefinitionFacts({ definition, isOne }: DefinitionFactsProps): JSX.Element {
  const facts = factsOf(definition, isOne ? "Port" : "First port").filter(
    ([, text]) => text !== undefined && text !== "",
  );
  return (
    <>
      <dl class="facts-list">
        {facts.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {definition.env.length > 0 && (
        <details>
          <summary>Environment ({definition.env.length})</summary>
          <ul class="variables">
            {definition.env.map((variable) => (
              <li key={variable.name}>
                <code>{variable.name}</code> {variableText(variable)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** What the file has now, which may not be applied yet. */
function WrittenText({ written: { file, line, text } }: { readonly written: WrittenPart }): JSX.Element {
  return (
    <>
      <h3>
        In the file{" "}
        <code>
          {file}:{line}
        </code>
      </h3>
      <ScrollArea name="Part of the configuration file" className="scroll written">
        <pre>
          {text
            .split("\n")
            .map((each) => printableLine(each))
            .join("\n")}
        </pre>
      </ScrollArea>
    </>
  );
}

function factsOf(
  definition: DefinitionRecord,
  portName: string,
): readonly (readonly [name: string, text: string | undefined])[] {
  const { argv, cwd, user, stdout, stderr, port, commonPort, start, restart, stop, envFiles, dependsOn, unapplied } =
    definition;
  return [
    ["Command", argv.join(" ")],
    ["Folder", cwd],
    ["User", user],
    ["Start policy", start],
    ["Restart policy", restart],
    ["Stop", stop],
    ["Depends on", dependsOn.join(", ")],
    ["Output", stdout],
    ["Errors", stderr === stdout ? undefined : stderr],
    [portName, port === undefined ? undefined : String(port)],
    ["Common port", commonPort === undefined ? undefined : String(commonPort)],
    ["Files with variables", envFiles.join(", ")],
    ["Not applied yet", unapplied],
  ];
}

function variableText({ value, source, from }: VariableRecord): string {
  if (value !== undefined) return value;
  return source === "file" || source === "variable" ? `(hidden, from ${source} ${from})` : "(hidden)";
}
