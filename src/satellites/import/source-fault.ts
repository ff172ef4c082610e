/** A syntax error in a foreign file. */

export type SourcePlace = { readonly line: number; readonly column: number };

export class SourceFault extends Error {
  readonly place: SourcePlace;

  constructor(place: SourcePlace, message: string) {
    super(message);
    this.place = place;
  }
}
