/** Components that are rendered again only when a property has changed. */
import { Component, type ComponentChild, type FunctionComponent, h } from "preact";

/** Properties are compared by identity; records by their JSON, as each request brings new ones. */
export function memo<Props extends object>(render: (props: Props) => ComponentChild): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return !isSame(this.props as Readonly<Props>, next);
    }

    override render(): ComponentChild {
      return h(render as FunctionComponent<Props>, this.props as Props);
    }
  }
  return Memo as unknown as FunctionComponent<Props>;
}

function isSame(one: object, other: object): boolean {
  const names = Object.keys(other);
  return names.every((name) => isEqual(one[name as keyof typeof one], other[name as keyof typeof other]));
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  return typeof one === "object" && typeof other === "object" && JSON.stringify(one) === JSON.stringify(other);
}
