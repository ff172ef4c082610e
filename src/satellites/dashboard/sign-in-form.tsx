/** Asks for a token, if the page wasn't opened by a link of `procman dashboard`. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Session } from "./model/session.ts";
import { useObserved } from "./parts/app-context.ts";

export function SignInForm({ session }: { readonly session: Session }): JSX.Element {
  const { problem, isBusy } = useObserved(session.state);
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (session.signIn(text)) setText("");
  };
  return (
    <main class="sign-in">
      <h1>procman</h1>
      {isBusy === true ? (
        <p role="status">Signing in …</p>
      ) : (
        <form onSubmit={submit}>
          {problem !== undefined && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <p>
            Run <code>procman dashboard</code> where procman runs: it opens this page, signed in. Or enter a token of{" "}
            <code>procman token --consumer me --scope read,control</code>.
          </p>
          <label class="field">
            Token
            <input
              type="password"
              autoComplete="off"
              spellcheck={false}
              required
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </label>
          <div class="buttons">
            <button type="submit" class="primary">
              Sign in
            </button>
          </div>
        </form>
      )}
    </main>
  );
}
